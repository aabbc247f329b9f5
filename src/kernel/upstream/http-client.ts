import { UpstreamFault } from "../../contract/index.ts";

/** One POST to a provider. */
export interface HttpRequest {
  /** Such as `https://api.example/v1`; the path is appended to it. */
  readonly baseUrl: string;
  readonly path: string;
  /** As {@link createHeaders} returns them. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or a form. */
  readonly body: string | FormData;
  /** Aborts the request and the reading of its response, and closes the connection. */
  readonly signal: AbortSignal;
}

/** After this time a closed connection does not count as stale: the provider may have begun to work. */
const staleMsMax = 2000;

/**
 * Sends requests to providers by the platform's `fetch`, which keeps connections alive, verifies certificates and goes
 * through `HTTPS_PROXY`. It follows no redirect.
 */
export class HttpClient {
  readonly #fetch: typeof globalThis.fetch;
  readonly #now: () => number;
  /** Base URLs that have answered: only these can have an idle connection that the provider closed. */
  readonly #answeredUrls = new Set<string>();

  constructor(fetch: typeof globalThis.fetch, now: () => number) {
    this.#fetch = fetch;
    this.#now = now;
  }

  /**
   * Resolves once the head of the response has arrived. A keep-alive connection that the provider closed at the same
   * moment fails as reset, and `fetch` does not retry: the request is sent once more on a new connection.
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
        this.#answeredUrls.has(request.baseUrl) &&
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
      this.#answeredUrls.add(baseUrl);
      return response;
    } catch (error) {
      throw signal.aborted ? signal.reason : new ConnectionError(error);
    }
  }
}

/** Why there is no connection, by the code of the error: nothing of the request was sent. */
const notConnected: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "its host name is unknown",
  EAI_AGAIN: "its host name could not be looked up",
  EAI_FAIL: "its host name could not be looked up",
  EHOSTUNREACH: "its host is unreachable",
  ENETUNREACH: "its network is unreachable",
  EMFILE: "the gateway has no more file descriptors; raise its limit (ulimit -n)",
  EADDRNOTAVAIL: "the gateway's machine has no free port",
  EPROTO: "the TLS handshake failed",
  ERR_PROXY_TUNNEL: "the proxy refused to connect",
};

/** Codes of OpenSSL and of the host name check for a certificate that is not accepted. */
const certificateCode = /CERT|ALTNAME|UNABLE_TO|ISSUER|HOSTNAME_MISMATCH|INVALID_CA/;

/** A connection to a provider that failed. */
export class ConnectionError extends UpstreamFault {
  /** Whether the provider may have received the request. */
  readonly wasSent: boolean;
  /** Whether the connection was closed before an answer began. */
  readonly isReset: boolean;

  /** @param error What `fetch` was rejected with. Only its code is shown: its message may name hosts. */
  constructor(error: unknown, isAnswering = false) {
    const code = readCode(error);
    const isTimeout = code === "ETIMEDOUT" && !isAnswering;
    const reason =
      notConnected[code] ?? (certificateCode.test(code) ? `certificate not accepted (${code})` : undefined);
    super(isTimeout ? "timeout" : "bad_response", describeError(code, reason, isAnswering), { cause: error });
    this.wasSent = isAnswering || (reason === undefined && !isTimeout);
    this.isReset = !isAnswering && (code === "ECONNRESET" || code === "EPIPE");
  }
}

function describeError(code: string, reason: string | undefined, isAnswering: boolean): string {
  if (isAnswering) return "The connection to the provider was closed in the middle of its answer";
  if (code === "ETIMEDOUT") return "Timed out connecting to the provider";
  if (reason !== undefined) return `Cannot connect to the provider: ${reason}`;
  if (code === "ECONNRESET" || code === "EPIPE") return "The connection to the provider was closed before it answered";
  return `The connection to the provider failed${code === "" ? "" : ` (${code})`}`;
}

function readCode(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" && /^\w{1,64}$/.test(code) ? code : "";
}

const namePattern = /^[\w!#$%&'*+\-.^`|~]+$/;
const valuePattern = /^[\t\x20-\x7e]*$/;

/** Headers that describe the connection or the body: only the HTTP client sets them, against request smuggling. */
const reservedNames = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Some providers refuse requests without a `user-agent`; decompressing answers costs more than it saves. */
const defaultHeaders = { accept: "*/*", "accept-encoding": "identity", "user-agent": "modelgate" };

/**
 * Headers of a request: the defaults, then those given. Later ones replace earlier ones, whatever their case.
 *
 * @throws {TypeError} When a name or a value is not allowed in a header. The value may be a key and is not shown.
 */
export function createHeaders(...given: (Readonly<Record<string, string>> | undefined)[]): Record<string, string> {
  const headers: Record<string, string> = { ...defaultHeaders };
  for (const [name, value] of given.flatMap((some) => Object.entries(some ?? {}))) {
    const lower = name.toLowerCase();
    if (!namePattern.test(name)) throw new TypeError(`Cannot send the header ${JSON.stringify(name)}: invalid name`);
    if (reservedNames.has(lower)) {
      throw new TypeError(`Cannot send the header '${lower}': only the gateway sets it`);
    }
    if (!valuePattern.test(value)) {
      throw new TypeError(`Cannot send the header '${lower}': its value has a character that is not printable ASCII`);
    }
    headers[lower] = value;
  }
  return headers;
}
