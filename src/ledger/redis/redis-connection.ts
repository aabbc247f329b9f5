import { clearTimeout, setTimeout } from "node:timers";
import { Cluster, Redis, type RedisOptions } from "ioredis";
import { RedisRefused } from "../limit-errors.ts";
import { TimeoutError, withTimeout } from "../with-timeout.ts";
import { admitScript, extendScript, formatScript, renewScript, settleScript } from "./scripts.ts";

/** The format of the stored limits; a changed format gets another number. */
const format = "modelgate-limits 1";
const formatKey = "modelgate:format";

const connectMsMax = 1000;
/** How soon after a failure it is tried again, and how slowly at last. */
const retryMsMin = 100;
const retryMsMax = 1000;
/** Number of failed probes after which a connection is replaced. */
const probesPerConnection = 3;

const scripts = {
  admit: admitScript,
  extend: extendScript,
  settle: settleScript,
  renew: renewScript,
  checkFormat: formatScript,
};

type ScriptName = keyof typeof scripts;
/** A single server or a cluster; scripts and keys are the same for both. */
type RedisClient = Redis | Cluster;
type Scripted = Record<ScriptName, (key: string, ...args: string[]) => Promise<unknown>>;

/** Marks a node of a cluster in `INFO`; Valkey names the field differently. */
const clusterMode = /^(redis|server)_mode:cluster/m;

/** Options of {@link RedisConnection}. */
export interface RedisConnectionOptions {
  url: string;
  /** How long one answer may take before Redis counts as down. */
  answerMsMax: number;
  /** Called before Redis is used again; it is only if that succeeds. */
  onRecovered(): Promise<void>;
  onDown(error: Error): void;
}

/**
 * The one way to Redis, behind a circuit breaker: the first failure makes it unhealthy, so no later call waits for a
 * Redis that does not answer. It is healthy again when Redis answers, accepts writes and knows the running calls.
 */
export class RedisConnection {
  readonly #client: RedisClient;
  readonly #options: RedisConnectionOptions;
  #isHealthy = false;
  #isClosed = false;
  #reason: Error = new Error("Redis was not asked yet");
  /** The error of the connection itself; its commands report only that it is closed. */
  #complaint: Error | undefined;
  #probe: NodeJS.Timeout | undefined;
  #failedProbes = 0;

  constructor(options: RedisConnectionOptions) {
    this.#options = options;
    this.#client = createClient(options.url);
    for (const [name, lua] of Object.entries(scripts)) this.#client.defineCommand(name, { lua, numberOfKeys: 1 });
    this.#client.on("error", (error) => {
      this.#complaint = error;
    });
    onLoss(this.#client, (error) => this.#down(error));
  }

  get isHealthy(): boolean {
    return this.#isHealthy;
  }

  /** Why it is not healthy. */
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
      await this.#client.connect();
      await this.#recover();
    } catch (error) {
      this.#reason = this.#reasonOf(error as Error);
      if (this.#reason instanceof RedisRefused) {
        this.close();
        throw this.#reason;
      }
      this.#probeLater();
    }
  }

  /**
   * Runs a script. @throws {Error} When Redis does not answer in time, or not with an answer. Whether the script ran is not known
   * then.
   *
   * @param waitMs How long its answer is waited for, where that is shorter than one may take.
   */
  run(name: ScriptName, key: string, args: readonly string[], waitMs?: number): Promise<string[]> {
    const send = (client: RedisClient) => (client as unknown as Scripted)[name](key, ...args);
    return this.#guarded(send, waitMs) as Promise<string[]>;
  }

  /** Reads fields of a hash, under the same rules. */
  read(key: string, fields: readonly string[]): Promise<(string | null)[]> {
    return this.#guarded((client) => client.hmget(key, ...fields));
  }

  close(): void {
    this.#isClosed = true;
    this.#isHealthy = false;
    clearTimeout(this.#probe);
    this.#client.disconnect();
  }

  /** The client's own `commandTimeout` would take a process that was busy for a Redis that is silent. */
  async #guarded<Answer>(send: (client: RedisClient) => Promise<Answer>, waitMs = Infinity): Promise<Answer> {
    const { answerMsMax } = this.#options;
    const answer = send(this.#client);
    try {
      return await withTimeout(answer, Math.min(waitMs, answerMsMax));
    } catch (error) {
      const restMs = answerMsMax - waitMs;
      // Only the caller's time is over; Redis still has time to answer.
      if (error instanceof TimeoutError && restMs > 0) withTimeout(answer, restMs).catch((late) => this.#down(late));
      else this.#down(error as Error);
      throw error;
    }
  }

  #down(error: Error): void {
    if (this.#isClosed || !this.#isHealthy) return;
    this.#isHealthy = false;
    this.#reason = error;
    this.#options.onDown(error);
    this.#probeLater();
  }

  #probeLater(): void {
    if (this.#isClosed || this.#probe !== undefined) return;
    const waitMs = Math.min(retryMsMin * 2 ** this.#failedProbes, retryMsMax);
    this.#probe = setTimeout(() => void this.#tryAgain(), waitMs);
    this.#probe.unref();
  }

  async #tryAgain(): Promise<void> {
    try {
      await this.#recover();
      this.#failedProbes = 0;
      this.#probe = undefined;
    } catch (error) {
      this.#reason = this.#reasonOf(error as Error);
      this.#probe = undefined;
      this.#failedProbes += 1;
      // A connection whose other end vanished silently is never closed by itself.
      const isStuck = this.#failedProbes % probesPerConnection === 0 && this.#client.status === "ready";
      if (isStuck) this.#client.disconnect(true);
      this.#probeLater();
    }
  }

  async #recover(): Promise<void> {
    const { answerMsMax, onRecovered } = this.#options;
    const infos = await withTimeout(serversOf(this.#client), answerMsMax);
    if (!this.#client.isCluster && clusterMode.test(infos[0] as string)) throw oneOfCluster();
    const formatFound = await this.#guarded((client) => (client as unknown as Scripted).checkFormat(formatKey, format));
    if (formatFound !== format) throw foreign(String(formatFound));
    await onRecovered();
    this.#isHealthy = !this.#isClosed;
  }

  #reasonOf(error: Error): Error {
    const complaint = this.#complaint;
    this.#complaint = undefined;
    const reason = error instanceof RedisRefused || complaint === undefined ? error : complaint;
    return refusalOf(reason) ?? reason;
  }
}

/** The client of one server; several URLs by comma are nodes of one cluster, which knows the others. */
export function createClient(urls: string): RedisClient {
  const [first, ...others] = urls.split(",").map((url) => url.trim()) as [string, ...string[]];
  const retry = (times: number) => Math.min(retryMsMin * times, retryMsMax);
  const options: RedisOptions = {
    lazyConnect: true,
    // The commands of one turn of the event loop go out as one: a third less work here.
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: connectMsMax,
    retryStrategy: retry,
  };
  if (others.length === 0) return new Redis(first, options);
  const { username, password, protocol } = new URL(first);
  return new Cluster([first, ...others], {
    lazyConnect: true,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    slotsRefreshTimeout: connectMsMax,
    clusterRetryStrategy: retry,
    redisOptions: {
      connectTimeout: connectMsMax,
      ...(username !== "" && { username: decodeURIComponent(username) }),
      ...(password !== "" && { password: decodeURIComponent(password) }),
      ...(protocol === "rediss:" && { tls: {} }),
    },
  });
}

/** Reports when a server was lost or replaced: a part of its data may be lost. */
function onLoss(client: RedisClient, lost: (error: Error) => void): void {
  client.on("error", lost);
  client.on("close", () => lost(new Error("The connection to Redis was closed")));
  if (client instanceof Redis) return;
  client.on("node error", lost);
  client.on("-node", () => lost(new Error("A node of the cluster is gone")));
  client.on("+node", () => lost(new Error("The cluster has another node")));
}

/** `INFO server` of each primary. */
function serversOf(client: RedisClient): Promise<string[]> {
  const servers = client instanceof Redis ? [client] : client.nodes("master");
  return Promise.all(servers.map((server) => server.info("server")));
}

function foreign(formatFound: string): RedisRefused {
  return new RedisRefused(
    `Cannot use this Redis: its key ${formatKey} says ${JSON.stringify(formatFound.slice(0, 80))} and ${JSON.stringify(format)} was expected; another program or version keeps its data there: name another Redis or database number in REDIS_URL`,
  );
}

function oneOfCluster(): RedisRefused {
  return new RedisRefused(
    "Cannot use this Redis: it is a node of a cluster; name several of its nodes in REDIS_URL, by comma",
  );
}

/** The error for a failure that waiting cannot fix; undefined for a failure that may pass. */
function refusalOf(error: Error): RedisRefused | undefined {
  if (error instanceof RedisRefused) return error;
  if (!/^(WRONGPASS|NOAUTH|NOPERM|ERR invalid password|ERR AUTH|ERR DB index)/.test(error.message)) return undefined;
  return new RedisRefused(
    `Cannot use this Redis: it says ${JSON.stringify(error.message)}; set user, password and database number in REDIS_URL`,
  );
}
