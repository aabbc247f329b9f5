import { setImmediate } from "node:timers";
import { inTime } from "../in-time.ts";
import type { RedisClient } from "./redis-client.ts";
import { type Script, type ScriptRun, wordsOf } from "./script.ts";

/** Redis does nothing else meanwhile, so no batch is longer than a millisecond or two. */
const runsMax = 64;

interface Batch {
  readonly runs: ScriptRun[];
  readonly done: PromiseWithResolvers<unknown[]>;
}

/**
 * Runs scripts. What one turn of the event loop wants of a script goes to the server as one command, which costs both
 * sides less than half; in a cluster each goes to the node of its keys.
 */
export class ScriptRunner {
  readonly #client: RedisClient;
  readonly #answerMsMax: number;
  readonly #batches = new Map<Script, Batch>();

  constructor(client: RedisClient, answerMsMax: number) {
    this.#client = client;
    this.#answerMsMax = answerMsMax;
  }

  /** @throws {Error} When Redis does not answer in time, or not with an answer; whether the script ran is not known. */
  async run(script: Script, run: ScriptRun): Promise<unknown> {
    if (this.#client.isCluster) return (await this.#send(script, [run]))[0];
    let batch = this.#batches.get(script);
    if (batch === undefined || batch.runs.length >= runsMax) batch = this.#begin(script);
    const place = batch.runs.push(run) - 1;
    return (await batch.done.promise)[place];
  }

  #begin(script: Script): Batch {
    const batch: Batch = { runs: [], done: Promise.withResolvers() };
    this.#batches.set(script, batch);
    setImmediate(() => {
      if (this.#batches.get(script) === batch) this.#batches.delete(script);
      this.#send(script, batch.runs).then(batch.done.resolve, batch.done.reject);
    });
    return batch;
  }

  async #send(script: Script, runs: readonly ScriptRun[]): Promise<unknown[]> {
    const { keys, args } = wordsOf(runs);
    try {
      const answer = this.#client.evalsha(script.sha, keys.length, ...keys, ...args);
      return (await inTime(answer, this.#answerMsMax)) as unknown[];
    } catch (error) {
      if (!(error as Error).message.startsWith("NOSCRIPT")) throw error;
      const answer = this.#client.eval(script.text, keys.length, ...keys, ...args);
      return (await inTime(answer, this.#answerMsMax)) as unknown[];
    }
  }
}
