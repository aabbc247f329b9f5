import type { Upstream, UpstreamBytes, UpstreamInit } from "../contract/index.ts";
import { type RefusedAnswer, type ServerEvent, UpstreamFault } from "../contract/index.ts";
import { SseParser } from "../kit/sse.ts";
import type { Deadlines, Watch } from "./deadlines.ts";
import { downloadPublic } from "./download.ts";
import { HostGuard, resolveHost } from "./host-guard.ts";
import type { Progress } from "./progress.ts";
import type { Route } from "./registry.ts";

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

/** What all requests of the gateway share. `fetch` is a parameter for tests only. */
export interface Network {
  fetch: typeof globalThis.fetch;
  deadlines: Deadlines;
  now: () => number;
  bounds: UpstreamBounds;
  guard: HostGuard;
}

export const defaultBounds: UpstreamBounds = {
  firstByteMsMax: 300_000,
  beginMsMax: 600_000,
  callMsMax: 1_800_000,
  idleMsMax: 120_000,
  answerBytesMax: 128 * 1024 * 1024,
  streamBytesMax: 256 * 1024 * 1024,
};

/** The network with the platform's own `fetch`: the only place that names it. */
export function openNetwork(deadlines: Deadlines, now: () => number, bounds: Partial<UpstreamBounds>): Network {
  const guard = new HostGuard(resolveHost, now);
  return { fetch: globalThis.fetch, deadlines, now, bounds: { ...defaultBounds, ...bounds }, guard };
}

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
    this.#headers = key === undefined ? {} : route.plugin.authorize(key);
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
    const response = await this.#post(path, JSON.stringify(body), init);
    const mediaType = mediaTypeOf(response);
    return { mediaType, chunks: this.#read(response) };
  }

  async events(path: string, body: unknown, init?: UpstreamInit): Promise<AsyncIterable<ServerEvent>> {
    const response = await this.#post(path, JSON.stringify(body), init);
    const mediaType = mediaTypeOf(response);
    if (mediaType !== "" && mediaType !== "text/event-stream" && mediaType !== "application/json") {
      await response.body?.cancel();
      throw new UpstreamFault("broken", `The provider answered ${mediaType} where an event stream was expected`);
    }
    return this.#readEvents(response);
  }

  async download(url: string): Promise<{ bytes: Uint8Array<ArrayBuffer>; mediaType: string }> {
    // Only what the caller or the provider named: a plugin cannot carry anything out in an address it made up.
    if (!mentions(this.#progress.request, url) && !this.#answers.some((answer) => mentions(answer, url))) {
      throw new TypeError("Cannot download an address that neither the request nor the provider's answer holds");
    }
    return downloadPublic(this.#network.fetch, url, this.#signal);
  }

  async #post(path: string, body: string | FormData, init: UpstreamInit | undefined): Promise<Response> {
    const { guard } = this.#network;
    const isPath = path.charCodeAt(0) === 47;
    const checked = isPath ? guard.check(this.#route) : guard.checkUrl(this.#route, path);
    const url = isPath ? this.#route.baseUrl + path : path;
    const headers: Record<string, string> = { ...this.#headers, ...init?.headers };
    if (typeof body === "string") headers["content-type"] = "application/json";
    const { fetch, deadlines, now, bounds } = this.#network;
    const watch = deadlines.watch(now() + bounds.firstByteMsMax, () => this.#giveUp());
    let response: Response;
    try {
      if (checked !== undefined) await checked;
      const signal = this.#signal;
      response = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
    } catch (error) {
      throw this.#networkFault(error);
    } finally {
      deadlines.drop(watch);
    }
    if (response.status < 200 || response.status > 299) throw await this.#refusal(response);
    return response;
  }

  async #refusal(response: Response): Promise<UpstreamFault> {
    const { status, headers } = response;
    if (status >= 300 && status < 400) {
      await response.body?.cancel();
      return new UpstreamFault("broken", `The provider answered with a redirect (${status}), which is not followed`, {
        status,
      });
    }
    // A refusal says by its status what it is, even when its body breaks off.
    const body = await this.#readText(response, 65_536, true).catch(() => "");
    const answer: RefusedAnswer = { status, headers, body };
    return this.#route.plugin.readFault(answer);
  }

  async #readJson(response: Response): Promise<unknown> {
    const text = await this.#readText(response, this.#network.bounds.answerBytesMax, false);
    try {
      const answer: unknown = JSON.parse(text);
      this.#answers.push(answer);
      return answer;
    } catch (error) {
      throw new UpstreamFault("broken", "The provider's answer is not JSON", { status: response.status, cause: error });
    }
  }

  /** A whole body as text, within its size and the idle deadline. A short answer that says its length is read at once. */
  async #readText(response: Response, bytesMax: number, cutLonger: boolean): Promise<string> {
    const length = response.headers.get("content-length");
    const plain = length !== null && response.headers.get("content-encoding") === null;
    if (plain && Number(length) <= bytesMax) {
      const watch = this.#watchIdle();
      try {
        return await response.text();
      } catch (error) {
        throw this.#networkFault(error);
      } finally {
        this.#network.deadlines.drop(watch);
      }
    }
    const decoder = new TextDecoder();
    let text = "";
    for await (const bytes of this.#read(response)) {
      text += decoder.decode(bytes, { stream: true });
      if (text.length <= bytesMax) continue;
      if (cutLonger) return text.slice(0, bytesMax);
      throw new UpstreamFault("broken", `The provider's answer is longer than ${bytesMax} bytes`);
    }
    return text + decoder.decode();
  }

  async *#readEvents(response: Response): AsyncGenerator<ServerEvent> {
    const decoder = new TextDecoder();
    const parser = new SseParser();
    for await (const bytes of this.#read(response)) {
      for (const event of parser.push(decoder.decode(bytes, { stream: true }))) yield event;
    }
    for (const event of parser.end()) yield event;
  }

  /** The body's pieces as they come; leaving the loop early cancels the request. */
  async *#read(response: Response): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    if (response.body === null) return;
    const { now, bounds, deadlines } = this.#network;
    const reader = response.body.getReader();
    const watch = this.#watchIdle();
    let total = 0;
    try {
      while (true) {
        const { done, value } = await reader.read();
        if (done) return;
        total += value.byteLength;
        if (total > bounds.streamBytesMax) {
          throw new UpstreamFault("broken", `The provider's answer is longer than ${bounds.streamBytesMax} bytes`);
        }
        deadlines.drop(watch); // a slow client is not the provider's silence, and one who never returns leaves nothing
        yield value;
        deadlines.renew(watch, now() + bounds.idleMsMax);
      }
    } catch (error) {
      throw this.#networkFault(error);
    } finally {
      deadlines.drop(watch);
      reader.cancel().catch(() => undefined);
    }
  }

  #watchIdle(): Watch {
    const { now, bounds, deadlines } = this.#network;
    return deadlines.watch(now() + bounds.idleMsMax, () => this.#giveUp());
  }

  #giveUp(): void {
    this.#timedOut = true;
    this.#progress.giveUp(this.#signal);
  }

  #networkFault(error: unknown): UpstreamFault {
    if (error instanceof UpstreamFault) return error;
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

function mediaTypeOf(response: Response): string {
  const text = response.headers.get("content-type");
  return text === null ? "" : (text.split(";")[0] as string).trim().toLowerCase();
}
