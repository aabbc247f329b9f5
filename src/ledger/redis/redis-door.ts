import { clearTimeout, setTimeout } from "node:timers";
import { inTime } from "../in-time.ts";
import { clientOf, onLoss, type RedisClient, serversOf } from "./redis-client.ts";
import { RedisRefused } from "./redis-refused.ts";
import type { Script } from "./script.ts";
import { ScriptRunner } from "./script-runner.ts";
import { formatScript } from "./seed-scripts.ts";

/** The format of what we keep; a newer one gets another number. */
const format = "modelgate-ledger 1";
/** How soon after a failure it is tried again, and how slowly at last. */
const probeMsMin = 100;
const probeMsMax = 1000;
/** A connection on which so many probes died is given up for a new one. */
const probesPerConnection = 3;

/** How a node says that it is one of a cluster; Valkey has another word for it. */
const clusterMode = /^(redis|server)_mode:cluster/m;

/** What {@link RedisDoor} wants. */
export interface RedisDoorOptions {
  url: string;
  /** How long one answer may take. */
  answerMsMax: number;
  /** Called before the door opens again; it opens only if that succeeds. */
  onBack(): Promise<void>;
  /** Called when the door shuts. */
  onGone(error: Error): void;
}

/**
 * The one way to Redis, behind a breaker: the first failure shuts the door, so that no later call waits for a Redis
 * that does not answer; it opens again when Redis answers, takes writes and all that it missed was told to it.
 */
export class RedisDoor {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;
  readonly #options: RedisDoorOptions;
  #life = "";
  #open = false;
  #closed = false;
  #reason: Error = new Error("Redis was not asked yet");
  /** What the connection itself complained of; its commands say only that it is closed. */
  #said: Error | undefined;
  #probe: NodeJS.Timeout | undefined;
  #probes = 0;

  constructor(options: RedisDoorOptions) {
    this.#options = options;
    this.#redis = clientOf(options.url);
    this.#runner = new ScriptRunner(this.#redis, options.answerMsMax);
    this.#redis.on("error", (error) => {
      this.#said = error;
    });
    onLoss(this.#redis, (error) => this.#shut(error));
  }

  /** Whether Redis is in use. */
  get open(): boolean {
    return this.#open;
  }

  /** Names this run of the server, or of all of a cluster: what an earlier one wrote may be lost in part. */
  get life(): string {
    return this.#life;
  }

  /** Why the door is shut. */
  get reason(): Error {
    return this.#reason;
  }

  /**
   * Tries for the first time. A Redis that cannot be reached is tried again in the background.
   *
   * @throws {RedisRefused} When it is reached and can never be used.
   */
  async start(): Promise<void> {
    try {
      await this.#redis.connect();
      await this.#check();
      await this.#options.onBack();
      this.#open = true;
    } catch (error) {
      this.#reason = this.#reasonOf(error as Error);
      if (this.#reason instanceof RedisRefused) {
        this.close();
        throw this.#reason;
      }
      this.#scheduleProbe();
    }
  }

  /**
   * Runs a script. @throws {Error} When Redis does not answer in time, or not with an answer. The door is shut then,
   * and whether the script ran is not known.
   */
  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    try {
      return await this.#runner.run(script, { keys, args });
    } catch (error) {
      this.#shut(error as Error);
      throw error;
    }
  }

  /** Deletes fields of a hash, under the same rules. */
  async forget(key: string, ...fields: string[]): Promise<void> {
    try {
      await inTime(this.#redis.hdel(key, ...fields), this.#options.answerMsMax);
    } catch (error) {
      this.#shut(error as Error);
      throw error;
    }
  }

  close(): void {
    this.#closed = true;
    this.#open = false;
    clearTimeout(this.#probe);
    this.#redis.disconnect();
  }

  #reasonOf(error: Error): Error {
    const said = this.#said;
    this.#said = undefined;
    const reason = error instanceof RedisRefused || said === undefined ? error : said;
    return refusalOf(reason) ?? reason;
  }

  #shut(error: Error): void {
    if (this.#closed || !this.#open) return;
    this.#open = false;
    this.#reason = error;
    this.#options.onGone(error);
    this.#scheduleProbe();
  }

  #scheduleProbe(): void {
    if (this.#closed || this.#probe !== undefined) return;
    this.#probe = setTimeout(() => void this.#tryAgain(), Math.min(probeMsMin * 2 ** this.#probes, probeMsMax));
    this.#probe.unref();
  }

  async #tryAgain(): Promise<void> {
    try {
      await this.#check();
      await this.#options.onBack();
      if (!this.#closed) this.#open = true;
      this.#probes = 0;
      this.#probe = undefined;
    } catch (error) {
      this.#reason = this.#reasonOf(error as Error);
      this.#probe = undefined;
      this.#probes += 1;
      // A connection whose other end is gone without a word would never say so.
      if (this.#probes % probesPerConnection === 0 && this.#redis.status === "ready") this.#redis.disconnect(true);
      this.#scheduleProbe();
    }
  }

  async #check(): Promise<void> {
    const infos = await inTime(serversOf(this.#redis), this.#options.answerMsMax);
    if (!this.#redis.isCluster && clusterMode.test(infos[0] as string)) throw oneOfCluster();
    const found = await this.#runner.run(formatScript, { keys: ["modelgate:format"], args: ["", format] });
    if (found !== format) throw foreign(String(found));
    this.#life = infos
      .map((info) => /run_id:(\w+)/.exec(info)?.[1] ?? "unnamed")
      .sort()
      .join("-");
  }
}

function foreign(found: string): RedisRefused {
  return new RedisRefused(
    `Cannot use this Redis: its key modelgate:format says ${JSON.stringify(found.slice(0, 80))} and ${JSON.stringify(format)} was expected; another program or version keeps its data there: name another Redis or database number in REDIS_URL`,
  );
}

function oneOfCluster(): RedisRefused {
  return new RedisRefused(
    "Cannot use this Redis: it is a node of a cluster; name several of its nodes in REDIS_URL, by comma",
  );
}

/** What no waiting mends; absent for what may pass. */
function refusalOf(error: Error): RedisRefused | undefined {
  if (error instanceof RedisRefused) return error;
  if (!/^(WRONGPASS|NOAUTH|NOPERM|ERR invalid password|ERR AUTH|ERR DB index)/.test(error.message)) return undefined;
  return new RedisRefused(
    `Cannot use this Redis: it says ${JSON.stringify(error.message)}; set user, password and database number in REDIS_URL`,
  );
}
