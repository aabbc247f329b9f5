import { getOwn, toMeters, UpstreamError } from "../../contract/index.ts";
import { headOf } from "../../lib/field-name.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import { isEndMark } from "../../lib/sse.ts";
import {
  type AnswerRepair,
  type Call,
  type ChatRequest,
  isFailedFinish,
  judgeFinish,
  type NativeAnswer,
  type PassthroughFormat,
  type PassthroughRequest,
  type ProviderPlugin,
  type ServerEvent,
  type WirePart,
} from "../../provider/index.ts";
import { type ModelRun, outputLimits } from "../call.ts";
import { OutputText } from "../normalize/output-text.ts";
import { tokensMax } from "../normalize/prompt-bounds.ts";
import type { Passthrough } from "../passthrough.ts";
import { type BegunStream, begin, pump, toReader } from "../streaming.ts";
import type { Kernel } from "../types.ts";
import { OtherFormError } from "../upstream/answer-form.ts";

/** Most tokens that an event without text stands for: the id of a call. */
const otherTokensMax = 32;
/** More characters than any answer has. */
const charactersMax = 64 * 1024 * 1024;

/** Fewer characters that are kept of a stream are not counted in memory. */
const keptCharactersMin = 65_536;
const characterBytes = 2;

/** An event and its JSON. */
interface ReadEvent {
  event: ServerEvent;
  part: WirePart;
}

/** An answer of a provider that has begun: whole, or as a stream. */
export interface OpenedPassthrough {
  passthrough: Passthrough;
  readUsage: NativeAnswer["readUsage"];
  whole?: WirePart;
  stream?: BegunStream<ServerEvent>;
}

/** Asks a route in the client's protocol if its provider speaks that, otherwise by chat. */
export function createOpener<Opened>(
  { bounds: { searchesMax } }: Pick<ModelRun, "bounds">,
  passthrough: Passthrough,
  openChat: (plugin: ProviderPlugin, call: Call<ChatRequest>) => Promise<Opened>,
) {
  return (plugin: ProviderPlugin, call: Call<ChatRequest>): Promise<Opened | OpenedPassthrough> => {
    if (passthrough.isServedBy({ plugin, model: call.model })) {
      return openPassthrough(passthrough, plugin, call, searchesMax).catch((error) => {
        // The plugin's chat handler reads the same answer, in whichever form it came.
        const isReadable = error instanceof OtherFormError && passthrough.untranslatable === undefined;
        if (!isReadable || plugin.handlers.chat === undefined) throw error;
        return openChat(plugin, { ...call, upstream: error.replay(call.upstream) });
      });
    }
    for (const { message, fields } of passthrough.losses) call.warn(message, fields);
    return openChat(plugin, call);
  };
}

/** Asks by chat for a request of another protocol: warnings name fields as that protocol does, and no places in lists of chat. */
export function withClientNames<Opened>(
  { format, body }: Pick<PassthroughRequest, "format" | "body">,
  openChat: (plugin: ProviderPlugin, call: Call<ChatRequest>) => Promise<Opened>,
): typeof openChat {
  const toNames = (field: string): readonly string[] => {
    const name = headOf(field);
    const clientName = (getOwn(format.namesOfChat ?? {}, name) ?? [name]).find((one) => (body[one] ?? null) !== null);
    if (clientName !== undefined) return [clientName];
    // The gateway may have set the limit itself, and an answer without it is bounded by nothing.
    return outputLimits.has(name) ? [name] : [];
  };
  return (plugin, call) =>
    openChat(plugin, {
      ...call,
      warn: (message, ignored) => call.warn(message, [...new Set([ignored ?? []].flat().flatMap(toNames))]),
    });
}

/**
 * Sends the request to a passthrough route, and waits for the first content: until it arrives, another route can still
 * serve the call.
 */
export async function openPassthrough(
  passthrough: Passthrough,
  plugin: ProviderPlugin,
  call: Call<ChatRequest>,
  searchesMax = 0,
): Promise<OpenedPassthrough> {
  const handler = passthrough.handlerOf(plugin);
  if (handler === undefined)
    throw new TypeError(`Plugin '${plugin.name}' has no ${passthrough.format.protocol} handler`);
  const request = { body: passthrough.toBody(call, searchesMax), headers: passthrough.headers };
  const { content, readUsage } = await handler({ ...call, request });
  const { format } = passthrough;
  if (isIterable(content) !== (call.request.stream === true)) {
    throw new TypeError(
      "The handler returned a stream for a request without stream: true, or no stream for one with it",
    );
  }
  if (isIterable(content)) {
    const reader = toReader(content);
    return { passthrough, readUsage, stream: await begin(reader, (event) => hasBegun(event, format)) };
  }
  if (!isRecord(content)) throw badResponseError("The provider's answer is not an object");
  checkPart(content, format);
  if (!format.isAnswer(content))
    throw badResponseError(`The provider's answer is not one of the ${passthrough.format.protocol} protocol`);
  return { passthrough, readUsage, whole: content };
}

/** Gives the answer out. Throws unless a stream ends in order. */
export async function sendPassthrough(
  kernel: Kernel,
  run: ModelRun<"chat">,
  opened: OpenedPassthrough,
): Promise<undefined> {
  const { passthrough } = opened;
  passthrough.isServing = true;
  const reader = new PassthroughReader(passthrough, run, opened.readUsage);
  if (opened.whole !== undefined) reader.readWhole(opened.whole);
  else await sendEvents(run, reader, opened);
  run.usageMeter.finish();
  if (kernel.observer !== undefined && reader.finishReason !== undefined)
    run.answer.finishReasons = [reader.finishReason];
  const { source } = await run.usageMeter.count();
  if (source === "estimated")
    kernel.log.warn("usage_estimated", { call: run.call.id, model: run.model, plugin: run.plugin });
  return undefined;
}

/** Whether an event says more than that the request was taken. @throws The failure that it says. */
function hasBegun(event: ServerEvent, format: PassthroughFormat): boolean {
  const part = readEvent(event, format)?.part;
  if (part === undefined) return false;
  checkPart(part, format);
  return !format.isPrelude(part.type);
}

/**
 * An answer is passed through with its provider's word for its end, which its client knows, unless that says a failure.
 *
 * @throws {UpstreamError} The failure that an event or a whole answer says.
 */
function checkPart(part: WirePart, format: PassthroughFormat): void {
  const error = format.errorOf(part);
  if (error !== undefined) throw error;
  const word = format.finishReasonOf(part);
  if (isFailedFinish(word)) judgeFinish(word, { hasOutput: true });
}

async function sendEvents(
  run: ModelRun<"chat">,
  reader: PassthroughReader,
  { stream, passthrough }: OpenedPassthrough,
): Promise<void> {
  const { sink } = run;
  if (sink === undefined || stream === undefined) throw new TypeError("There is no sink to stream to");
  // An event that is not paid is neither counted nor sent.
  const send = (event: ServerEvent) => {
    const read = readEvent(event, passthrough.format);
    if (read === undefined) return undefined;
    const extension = run.spend(reader.tokensMaxOf(read));
    return extension === undefined ? reader.read(read) : extension.then(() => reader.read(read));
  };
  sink.open();
  await pump(stream, send, {
    isFinished: () => reader.finishReason !== undefined,
    isComplete: () => reader.isComplete,
  });
  if (!reader.isComplete) reader.end();
}

/** Reads what has to be known of an answer, and sends its events on. */
class PassthroughReader {
  readonly #passthrough: Passthrough;
  readonly #run: ModelRun<"chat">;
  readonly #readUsage: NativeAnswer["readUsage"];
  readonly #output = new OutputText();
  readonly #repair: AnswerRepair | undefined;
  /** Characters kept by the repair that are counted in memory. */
  #reservedCharacters = 0;
  /** New text of the current event, without what earlier events had. */
  #text = "";
  isComplete = false;
  finishReason: string | undefined;

  constructor(passthrough: Passthrough, run: ModelRun<"chat">, readUsage: NativeAnswer["readUsage"]) {
    this.#passthrough = passthrough;
    this.#run = run;
    this.#readUsage = readUsage;
    this.#repair = passthrough.format.createRepair?.();
  }

  readWhole(answer: WirePart): void {
    this.#report(answer);
    const { usageMeter } = this.#run;
    // The text is only needed for an estimate.
    if (usageMeter.reported?.outputToken) usageMeter.wrote = usageMeter.produced = true;
    else this.#count(this.#readText(answer));
    this.#note(answer);
    this.#rename(answer);
    this.#repair?.repair(answer, 0);
    this.#passthrough.answer = answer;
  }

  /** An upper bound of the tokens that an event adds; one without a piece of text may begin a call. */
  tokensMaxOf({ part }: ReadEvent): number {
    const { format } = this.#passthrough;
    this.#text = this.#readText(part);
    const isPiece = part.delta !== undefined && this.#text !== "";
    const other = isPiece || format.isPrelude(part.type) ? 0 : otherTokensMax;
    return tokensMax(this.#text) + other;
  }

  /** The new text of an event or a whole answer, without what earlier events had. */
  #readText(part: WirePart): string {
    this.#passthrough.format.readOutput(part, this.#output);
    return this.#output.take();
  }

  /** Sends an event; the last one is kept until the call is settled. */
  read({ event, part }: ReadEvent): Promise<void> | undefined {
    this.#run.call.throwIfCancelled();
    const passthrough = this.#passthrough;
    const { format } = passthrough;
    this.#report(part);
    checkPart(part, format);
    this.#count(this.#text);
    if (typeof part.sequence_number === "number") passthrough.sequence = part.sequence_number;
    const head = format.headOf(part);
    const isRenamed = head !== undefined && this.#rename(head);
    // The event was read and counted as it came.
    const isChanged = this.#repair?.repair(part, event.data.length) === true || isRenamed;
    this.#reserveKept();
    if (head !== undefined) passthrough.head = head;
    const missing = this.#repair?.missingBefore?.(part) ?? [];
    const sentEvent = {
      event: event.event,
      data: isChanged || missing.length > 0 || event.data.includes("\n") ? JSON.stringify(part) : event.data,
    };
    this.#note(part);
    const { sink } = this.#run;
    for (const left of missing) sink?.pass(left);
    if (!format.isLast(part.type)) return sink?.pass(sentEvent);
    if (this.finishReason === undefined) throw badResponseError("The provider's stream ended without a finish reason");
    this.isComplete = true;
    passthrough.answer = head;
    passthrough.lastEvent = sentEvent;
    return undefined;
  }

  /** Counts the memory of what is kept of a stream. */
  #reserveKept(): void {
    const more = (this.#repair?.keptCharacters ?? 0) - this.#reservedCharacters;
    if (more < keptCharactersMin) return;
    this.#run.call.request.memory?.reserveAnswer(characterBytes * more);
    this.#reservedCharacters += more;
  }

  #report(part: WirePart): void {
    const head = this.#passthrough.format.headOf(part) ?? part;
    const tier = this.#passthrough.format.servedTierOf(head);
    if (typeof tier === "string") this.#run.answer.servedTier = tier;
    const cacheReport = this.#passthrough.format.cacheReportOf?.(part);
    if (cacheReport !== undefined) this.#run.answer.cacheReport = cacheReport;
    const { usageMeter } = this.#run;
    const usage = this.#readUsage(part);
    const reported = toMeters(usage);
    const searches = this.#countSearches(part, head);
    if (reported === undefined) return;
    // A provider that does not say how many searches it charges for is taken to charge for all that were seen.
    const meters = searches === 0 ? reported : { webSearch: searches, ...reported };
    usageMeter.report(meters, usage);
    // Also an answer of hidden reasoning alone is paid for.
    if (meters.outputToken !== undefined && meters.outputToken > 1) usageMeter.produced = true;
  }

  /** The searches of the web so far: an event brings one of them, and a whole answer, also in a last event, has all. */
  #countSearches(part: WirePart, head: WirePart): number {
    const passthrough = this.#passthrough;
    const { format, searches } = passthrough;
    if (!this.#run.bounds.searchesMax) return 0;
    const most = format.isAnswer(head) ? format.countSearches(head) : 0;
    passthrough.searches = Math.max(
      most,
      head === part && most === 0 ? searches + format.countSearches(part) : searches,
    );
    return passthrough.searches;
  }

  #count(text: string): void {
    if (text === "") return;
    const { usageMeter } = this.#run;
    usageMeter.produced = true;
    usageMeter.wrote = true;
    const { output } = usageMeter;
    output.sample.add(text);
    if (output.sample.length > charactersMax) {
      throw new UpstreamError("bad_response", "The provider's response exceeds the size limit", { isOfRequest: true });
    }
  }

  #note(part: WirePart): void {
    const reason = this.#passthrough.format.finishReasonOf(part);
    if (reason === undefined) return;
    this.finishReason = reason;
    this.#run.usageMeter.produced = true;
  }

  /**
   * Ends a stream that was closed without its last event.
   *
   * @throws {UpstreamError} Unless its provider had said why the answer is finished, and the last event says no more.
   */
  end(): void {
    const passthrough = this.#passthrough;
    const { closing } = passthrough.format;
    if (this.finishReason === undefined || closing === undefined)
      throw badResponseError("The provider's stream ended before the answer was complete");
    this.isComplete = true;
    passthrough.lastEvent = closing;
  }

  /** Gives the answer the model's public name. */
  #rename(head: WirePart): boolean {
    const name = this.#run.publicName;
    if (typeof head.model !== "string" || head.model === name) return false;
    head.model = name;
    return true;
  }
}

/** The event with its JSON; `undefined` for one that says nothing. */
function readEvent(event: ServerEvent, format: PassthroughFormat): ReadEvent | undefined {
  const data = event.data.trim();
  if (data === "" || isEndMark(data)) return undefined;
  const part = parseJson(data, "event");
  if (event.event === "raw") throw format.readError(part ?? data);
  if (isRecord(part)) {
    const type = part.type ?? event.event;
    if (typeof type !== "string" || !/^[\w.]{1,100}$/.test(type))
      throw badResponseError("An event of the provider has no type");
    part.type = type;
    return { event: { event: type, data }, part };
  }
  throw badResponseError("The provider's stream has an event that is not a JSON object");
}

function isIterable(value: unknown): value is AsyncIterable<ServerEvent> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function badResponseError(message: string): UpstreamError {
  return new UpstreamError("bad_response", message);
}
