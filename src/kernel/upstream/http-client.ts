import { ConnectionError } from "./connection-error.ts";

/** One POST to a provider. */
export interface HttpRequest {
  /** Such as `https://api.example/v1`; the path is appended to it. */
  readonly baseUrl: string;
  readonly path: string;
  /** As `createHeaders` makes them. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or a form. */
  readonly body: string | FormData;
  /** Aborts the request and the reading of its response, and closes the connection. */
  readonly signal: AbortSignal;
}

/** After this a closed connection is no longer taken for a stale one: the provider may have begun to work. */
const staleMsMax = 2000;

/**
 * Sends requests to providers by the platform's `fetch`, which keeps connections alive, verifies certificates and goes
 * through `HTTPS_PROXY`. It follows no redirect.
 */
export class HttpClient {
  readonly #fetch: typeof globalThis.fetch;
  readonly #now: () => number;
  /** Base URLs that have answered: only to these there can be a connection that the provider closed while it was idle. */
  readonly #onSuccess = new Set<string>();

  constructor(fetch: typeof globalThis.fetch, now: () => number) {
    this.#fetch = fetch;
    this.#now = now;
  }

  /**
   * Resolves once the head of the response has arrived. `fetch` reports a keep-alive connection that the provider closed
   * at the same moment as reset and does not send again: that is done here, once, on a new connection.
   *
   * @throws {ConnectionError} When no response came.
   * @throws The reason of the signal once that is aborted.
   */
  async request(request: HttpRequest): Promise<Response> {
    const sentAt = this.#now();
    try {
      return await this.#send(request, true);
    } catch (error) {
      const isStale =
        error instanceof ConnectionError &&
        error.isReset &&
        this.#onSuccess.has(request.baseUrl) &&
        this.#now() - sentAt <= staleMsMax;
      if (!isStale) throw error;
      return await this.#send(request, false);
    }
  }

  async #send({ baseUrl, path, headers, body, signal }: HttpRequest, keepalive: boolean): Promise<Response> {
    // `timeout: false` turns off Bun's own limit of five minutes, which other platforms do not have.
    const init = { method: "POST", headers, body, signal, redirect: "manual", keepalive, timeout: false } as const;
    try {
      const response = await this.#fetch(baseUrl + path, init);
      this.#onSuccess.add(baseUrl);
      return response;
    } catch (error) {
      throw signal.aborted ? signal.reason : new ConnectionError(error);
    }
  }
}
