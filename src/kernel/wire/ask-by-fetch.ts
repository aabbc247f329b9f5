import { UpstreamFault } from "../../contract/index.ts";
import type { Answer, Ask, Bytes, Question, Taker } from "./ask.ts";

/** Asks by a `fetch`: the platform's where an HTTP proxy stands in between, which the wire client does not speak to. */
export function askByFetch(fetch: typeof globalThis.fetch): Ask {
  return async ({ baseUrl, path, headers, more, body, signal }: Question) => {
    const all: Record<string, string> = { ...headers, ...more };
    if (typeof body === "string") all["content-type"] = "application/json";
    const init: RequestInit = { method: "POST", headers: all, signal, redirect: "manual" };
    if (body === undefined) init.method = "GET";
    else init.body = body;
    const response = await fetch(baseUrl + path, init).catch(failWith(signal));
    return new FetchedAnswer(response, signal);
  };
}

/** What a failure means: that of an aborted request is left as it is. */
const failWith =
  (signal: AbortSignal) =>
  (cause: unknown): never => {
    throw signal.aborted ? cause : new UpstreamFault("broken", "The connection to the provider failed", { cause });
  };

class FetchedAnswer implements Answer {
  readonly #response: Response;
  readonly #signal: AbortSignal;
  #reader: ReadableStreamDefaultReader<Bytes> | undefined;

  constructor(response: Response, signal: AbortSignal) {
    this.#response = response;
    this.#signal = signal;
  }

  get status(): number {
    return this.#response.status;
  }

  get contentType(): string | undefined {
    return this.#response.headers.get("content-type") ?? undefined;
  }

  headers(): Headers {
    return this.#response.headers;
  }

  whole(): undefined {
    return undefined;
  }

  take(taker: Taker): undefined {
    const { body } = this.#response;
    if (body === null) return void taker.onPiece(undefined);
    this.#reader ??= body.getReader();
    this.#reader
      .read()
      .catch(failWith(this.#signal))
      .then(
        ({ value }) => taker.onPiece(value),
        (error) => taker.onFailure(error),
      );
  }

  cancel(): void {
    const { body } = this.#response;
    (this.#reader ?? body)?.cancel().catch(() => undefined);
  }
}
