import { Buffer } from "node:buffer";
import type { Capability } from "../../contract/index.ts";
import type { Contents, NewContent, Store } from "../../db/index.ts";
import type { ClientCall, ClientRequest, Log } from "../../kernel/index.ts";
import type { SecretBox } from "../../providers/index.ts";
import type { ContentSink } from "../module.ts";
import { AnswerCopy } from "./answer-copy.ts";
import { type Content, sealContent } from "./content-box.ts";
import { type ContentTurn, readRequestContent } from "./read-content.ts";
import type { Redact } from "./redact.ts";
import type { ContentSettings } from "./settings.ts";

const flushMs = 500;
const waitingBytesMaxDefault = 32 * 2 ** 20;
/** Text that is written in one transaction. */
const batchBytes = 2 ** 20;
const batchRows = 50;

export interface KeeperDeps {
  readonly settings: Pick<ContentSettings, "contentLog" | "contentLogMaxMb">;
  readonly store: Store;
  readonly contents: Contents;
  readonly box: SecretBox;
  readonly redact: Redact;
  readonly log: Pick<Log, "warn">;
  readonly sink?: ContentSink | undefined;
  /** Limit of the text that waits to be written; text beyond it is not kept. Default 32 MB. */
  readonly waitingBytesMax?: number | undefined;
}

/** The content of a call, as JSON: strings of a request would keep all of its body in memory. */
interface Waiting extends Pick<NewContent, "id" | "accountId" | "at"> {
  readonly json: Buffer;
  readonly send: ((content: Content) => void) | undefined;
}

/**
 * Keeps prompts and answers of the calls that this is switched on for. The text is read after the answer was handed
 * over, then redacted, encrypted and written in the background; a call neither waits for that nor fails because of it.
 */
export class ContentKeeper {
  readonly #deps: KeeperDeps;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #lost = 0;
  #lastError: unknown;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** Calls whose text is about to be taken. */
  #taking = new Set<Promise<void>>();

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
  }

  /** A copy of the request whose answer is copied as it is sent; undefined where that is not switched on. */
  copy<C extends Capability>(request: ClientRequest<C>): AnswerCopy<C> | undefined {
    const { contentLog } = this.#deps.settings;
    const { caller, forbidsStoring } = request;
    const isOn = contentLog === "all" || (caller.keepsContent === true && forbidsStoring !== true);
    return isOn ? new AnswerCopy(request) : undefined;
  }

  /**
   * Keeps the text of a call that has ended.
   *
   * @param answer Undefined for a stream, and for a call that failed.
   */
  keep<C extends Capability>(call: ClientCall<C>, copy: AnswerCopy<C>, answer: unknown): void {
    // A request that did not become a call has no row in the ledger that its content could belong to.
    if (call.run?.hold === undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#taking.add(promise);
    setImmediate(() => {
      try {
        const send = this.#deps.sink?.prepare(call as unknown as ClientCall);
        const { guard, request: body } = call.run as NonNullable<typeof call.run>;
        // Text that a policy took out of the request is not kept.
        const checkedRequest = guard?.hasReplaced ? { ...copy.request, body, passthrough: undefined } : copy.request;
        this.#add(copy.request, { request: readRequestContent(checkedRequest), answer: copy.toTurns(answer) }, send);
      } catch (error) {
        this.#lose(1, error);
      }
      this.#taking.delete(promise);
      resolve();
    });
  }

  /** Writes the content collected so far. */
  async flush(): Promise<void> {
    await Promise.all(this.#taking);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    await this.#writing;
  }

  #add({ id, caller: { accountId }, openedAt: at }: ClientRequest, content: Content, send: Waiting["send"]): void {
    const json = Buffer.from(JSON.stringify(content));
    const { waitingBytesMax = waitingBytesMaxDefault } = this.#deps;
    if (this.#waitingBytes + json.byteLength > waitingBytesMax)
      this.#lose(1, new Error("Too much waits to be written"));
    else {
      this.#waitingBytes += json.byteLength;
      this.#waiting.push({ id, accountId, at, json, send });
    }
    this.#timer ??= setTimeout(() => void this.flush(), flushMs).unref();
  }

  #lose(calls: number, error: unknown): void {
    this.#lost += calls;
    this.#lastError = error;
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#nextBatch();
      await this.#writeBatch(batch);
      this.#waitingBytes -= sumBytes(batch);
    }
    if (this.#lost > 0) this.#deps.log.warn("content_not_kept", { calls: this.#lost, error: this.#lastError });
    this.#lost = 0;
  }

  #nextBatch(): Waiting[] {
    let bytes = 0;
    const end = this.#waiting.findIndex((one, place) => {
      bytes += one.json.byteLength;
      return place >= batchRows || (place > 0 && bytes > batchBytes);
    });
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }

  /** A batch that cannot be written is dropped, which keeps memory bounded. */
  async #writeBatch(batch: readonly Waiting[]): Promise<void> {
    for (const [accountId, calls] of Map.groupBy(batch, (one) => one.accountId)) {
      try {
        const rows: NewContent[] = [];
        for (const call of calls) rows.push(await this.#seal(call));
        await this.#deps.contents.put(accountId, rows, this.#deps.settings.contentLogMaxMb * 2 ** 20);
      } catch (error) {
        this.#lose(calls.length, error);
      }
    }
  }

  async #seal(call: Waiting): Promise<NewContent> {
    const { request, answer } = JSON.parse(call.json.toString()) as Content;
    const content = { request: await this.#redact(request), answer: await this.#redact(answer) };
    call.send?.(content);
    return await sealContent(this.#deps, call, content);
  }

  async #redact(turns: readonly ContentTurn[]): Promise<ContentTurn[]> {
    const redacted: ContentTurn[] = [];
    for (const { role, text } of turns) redacted.push({ role, text: await this.#deps.redact(text) });
    return redacted;
  }
}

function sumBytes(waiting: readonly Waiting[]): number {
  return waiting.reduce((sum, { json }) => sum + json.byteLength, 0);
}
