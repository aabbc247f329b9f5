import type { ProviderPlugin, Upstream, UpstreamBytes, UpstreamInit } from "../contract/index.ts";
import { type RefusedAnswer, type ServerEvent, UpstreamFault } from "../contract/index.ts";
import { BodyEvents, type BodyGround, BodyPieces, readText } from "./answer-body.ts";
import { askPublicBy } from "./ask-public.ts";
import type { Deadlines } from "./deadlines.ts";
import { downloadPublic } from "./download.ts";
import { HostGuard, resolveHost } from "./host-guard.ts";
import type { Progress } from "./progress.ts";
import type { Route } from "./registry.ts";
import type { Answer, Ask } from "./wire/ask.ts";
import { askByFetch } from "./wire/ask-by-fetch.ts";
import type { Dial } from "./wire/line.ts";
import { WireClient } from "./wire/wire-client.ts";

/** How long a provider may keep a call waiting, and how much it may send. */
export interface UpstreamBounds {
  /** Until the head of the answer. */
  firstByteMsMax: number;
  /** Until the answer begins, all attempts together. */
  beginMsMax: number;
  /** Of a whole call, to the end of its answer: what ends a plugin that never does. */
  callMsMax: number;
  /** Between two pieces of a streamed answer. */
  idleMsMax: number;
  /** Of a whole answer that is not streamed, in bytes. */
  answerBytesMax: number;
  /** Of a whole streamed answer, in bytes. */
  streamBytesMax: number;
}

/** What all requests of the gateway share. */
export interface Network {
  /** How providers are asked. */
  ask: Ask;
  /** How files are fetched that callers named. */
  askPublic: Ask;
  /** The platform's own, which guards nothing: for a recording that its operator makes. */
  fetch: typeof globalThis.fetch;
  deadlines: Deadlines;
  now: () => number;
  bounds: UpstreamBounds;
  guard: HostGuard;
  /** Closes the connections that nothing uses. */
  close(): void;
}

export const defaultBounds: UpstreamBounds = {
  firstByteMsMax: 300_000,
  beginMsMax: 600_000,
  callMsMax: 1_800_000,
  idleMsMax: 120_000,
  answerBytesMax: 128 * 1024 * 1024,
  streamBytesMax: 256 * 1024 * 1024,
};

/** Which HTTP client asks providers: the gateway's own, or the platform's `fetch`. */
export type UpstreamClient = "wire" | "fetch";

/** By what providers are asked. */
export interface AskedBy {
  client?: UpstreamClient;
  /** What opens the wire client's sockets; absent: `node:net`. */
  dial?: Dial;
}

/** The network, with the platform's own `fetch`: the only place that names it. */
export function openNetwork(
  deadlines: Deadlines,
  now: () => number,
  bounds: Partial<UpstreamBounds>,
  { client = "wire", dial }: AskedBy = {},
): Network {
  const { fetch } = globalThis;
  const guard = new HostGuard(resolveHost, now);
  const dialling = { now, lookup: guard.lookup, ...(dial && { dial }) };
  const wire = client === "wire" ? new WireClient(dialling) : undefined;
  const ask = wire === undefined ? askByFetch(fetch) : wire.ask;
  const askPublic = wire === undefined ? ask : askPublicBy(resolveHost, now);
  const close = () => wire?.close();
  return { ask, askPublic, fetch, deadlines, now, bounds: { ...defaultBounds, ...bounds }, guard, close };
}

const noHeaders = {};
/** What plugins make of their keys: the same object for each call, as the wire client keeps its text with it. */
const headersByKey = new WeakMap<ProviderPlugin, Map<string, Record<string, string>>>();

function headersOf(plugin: ProviderPlugin, key: string): Record<string, string> {
  let known = headersByKey.get(plugin);
  if (known === undefined) {
    known = new Map();
    headersByKey.set(plugin, known);
  }
  let headers = known.get(key);
  if (headers === undefined) {
    headers = plugin.authorize(key);
    known.set(key, headers);
  }
  return headers;
}

/** Of what a provider says to a refusal, in bytes. */
const refusalBytesMax = 65_536;

/** The door of one attempt: one route, one of its keys, one call. */
export class BoundUpstream implements Upstream {
  readonly #network: Network;
  readonly #route: Route;
  readonly #headers: Record<string, string>;
  readonly #progress: Progress;
  /** Of the attempt this door was made for: a handler that goes on after it has ended reaches nobody. */
  readonly #signal: AbortSignal;
  #timedOut = false;
  /** What the provider said so far: it may name files to fetch. */
  readonly #answers: unknown[] = [];

  constructor(network: Network, route: Route, key: string | undefined, progress: Progress) {
    this.#network = network;
    this.#route = route;
    this.#headers = key === undefined ? noHeaders : headersOf(route.plugin, key);
    this.#progress = progress;
    this.#signal = progress.signal;
  }

  async json<T>(path: string, body: unknown, init?: UpstreamInit): Promise<T> {
    return (await this.#readJson(await this.#post(path, JSON.stringify(body), init))) as T;
  }

  async form<T>(path: string, form: FormData, init?: UpstreamInit): Promise<T> {
    return (await this.#readJson(await this.#post(path, form, init))) as T;
  }

  async bytes(path: string, body: unknown, init?: UpstreamInit): Promise<UpstreamBytes> {
    const answer = await this.#post(path, JSON.stringify(body), init);
    return { mediaType: mediaTypeOf(answer), chunks: new BodyPieces(answer, this.#ground(this.#streamBytesMax)) };
  }

  async events(path: string, body: unknown, init?: UpstreamInit): Promise<AsyncIterable<ServerEvent>> {
    const answer = await this.#post(path, JSON.stringify(body), init);
    const mediaType = mediaTypeOf(answer);
    if (mediaType !== "" && mediaType !== "text/event-stream" && mediaType !== "application/json") {
      answer.cancel();
      throw new UpstreamFault("broken", `The provider answered ${mediaType} where an event stream was expected`);
    }
    return new BodyEvents(answer, this.#ground(this.#streamBytesMax));
  }

  async download(url: string): Promise<{ bytes: Uint8Array<ArrayBuffer>; mediaType: string }> {
    // Only what the caller or the provider named: a plugin cannot carry anything out in an address it made up.
    if (!mentions(this.#progress.request, url) && !this.#answers.some((answer) => mentions(answer, url))) {
      throw new TypeError("Cannot download an address that neither the request nor the provider's answer holds");
    }
    return downloadPublic(this.#network.askPublic, url, this.#signal);
  }

  async #post(path: string, body: string | FormData, init: UpstreamInit | undefined): Promise<Answer> {
    const { guard, ask, deadlines, now, bounds } = this.#network;
    const isPath = path.charCodeAt(0) === 47;
    const checked = isPath ? guard.check(this.#route) : guard.checkUrl(this.#route, path);
    const place = isPath ? { baseUrl: this.#route.baseUrl, path } : placeOf(path);
    const watch = deadlines.watch(now() + bounds.firstByteMsMax, () => this.#giveUp());
    let answer: Answer;
    try {
      if (checked !== undefined) await checked;
      const { baseUrl, path } = place;
      answer = await ask({ baseUrl, path, headers: this.#headers, more: init?.headers, body, signal: this.#signal });
    } catch (error) {
      throw this.#networkFault(error);
    } finally {
      deadlines.drop(watch);
    }
    if (answer.status < 200 || answer.status > 299) throw await this.#refusal(answer);
    return answer;
  }

  async #refusal(answer: Answer): Promise<UpstreamFault> {
    const { status } = answer;
    if (status >= 300 && status < 400) {
      answer.cancel();
      return new UpstreamFault("broken", `The provider answered with a redirect (${status}), which is not followed`, {
        status,
      });
    }
    // A refusal says by its status what it is, even when its body breaks off.
    const body = await readText(answer, this.#ground(refusalBytesMax), true).catch(() => "");
    const refused: RefusedAnswer = { status, headers: answer.headers(), body };
    return this.#route.plugin.readFault(refused);
  }

  async #readJson(answer: Answer): Promise<unknown> {
    const text = await readText(answer, this.#ground(this.#network.bounds.answerBytesMax), false);
    try {
      const value: unknown = JSON.parse(text);
      this.#answers.push(value);
      return value;
    } catch (error) {
      throw new UpstreamFault("broken", "The provider's answer is not JSON", { status: answer.status, cause: error });
    }
  }

  get #streamBytesMax(): number {
    return this.#network.bounds.streamBytesMax;
  }

  #ground(bytesMax: number): BodyGround {
    const { deadlines, now, bounds } = this.#network;
    return {
      deadlines,
      now,
      idleMsMax: bounds.idleMsMax,
      bytesMax,
      onSilence: () => this.#giveUp(),
      faultOf: (error) => this.#networkFault(error),
    };
  }

  #giveUp(): void {
    this.#timedOut = true;
    this.#progress.giveUp(this.#signal);
  }

  #networkFault(error: unknown): Error {
    if (error instanceof UpstreamFault || error instanceof TypeError) return error;
    if (this.#timedOut || this.#progress.cutReason === "timeout") {
      return new UpstreamFault("timeout", "The provider did not answer in the time allowed", { cause: error });
    }
    return new UpstreamFault("broken", "The connection to the provider failed", { cause: error });
  }
}

/** Whether a text stands whole somewhere in a value. */
function mentions(value: unknown, text: string): boolean {
  if (typeof value === "string") return value === text;
  if (typeof value !== "object" || value === null) return false;
  for (const name in value) if (mentions((value as Record<string, unknown>)[name], text)) return true;
  return false;
}

/** A whole URL as the base URL and the path of a question. */
function placeOf(text: string): { baseUrl: string; path: string } {
  const { origin, pathname, search } = new URL(text);
  return { baseUrl: origin, path: pathname + search };
}

function mediaTypeOf({ contentType }: Answer): string {
  return contentType === undefined ? "" : (contentType.split(";")[0] as string).trim().toLowerCase();
}
