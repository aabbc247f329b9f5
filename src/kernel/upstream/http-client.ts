/**
 * Requests of the gateway: headers, bodies that are read within their bounds, and one timer for all deadlines. A connection that
 * failed says whether the provider may have received the request, because what it received may be owed.
 */

import { UpstreamError } from "../../contract/index.ts";
import type { HttpMethod } from "../../provider/index.ts";

/** A function that is called at a time, unless it is moved or cancelled first. */
export interface Timeout {
  /** Due time by the clock of the scheduler; it can be moved at any time at no cost. */
  atMs: number;
  readonly onTimeout: () => void;
}

const tickMs = 50;

/** Whole milliseconds of a clock that never jumps when the system's time is set. */
export const monotonicNow = (): number => Math.trunc(performance.now());

/**
 * The timeouts of all calls behind one timer: a call sets and moves several, and a timer for each would cost more than
 * the rest of its bookkeeping. A timeout fires at most 50 ms late. The timer runs only while there are timeouts.
 */
export class TimeoutScheduler {
  readonly #timeouts = new Set<Timeout>();
  readonly #now: () => number;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(now: () => number = monotonicNow) {
    this.#now = now;
  }

  schedule(atMs: number, onTimeout: () => void): Timeout {
    const timeout: Timeout = { atMs, onTimeout };
    this.#add(timeout);
    return timeout;
  }

  cancel(timeout: Timeout): void {
    this.#timeouts.delete(timeout);
  }

  #add(timeout: Timeout): void {
    this.#timeouts.add(timeout);
    this.#timer ??= setInterval(() => this.tick(), tickMs);
  }

  /** Fires what is due. Called by the timer, and by tests with their own clock. */
  tick(): void {
    const now = this.#now();
    for (const timeout of this.#timeouts) {
      if (timeout.atMs > now) continue;
      this.#timeouts.delete(timeout);
      timeout.onTimeout();
    }
    if (this.#timeouts.size === 0 && this.#timer !== undefined) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}

/** Why there is no connection, by the code of the error: nothing of the request was sent. */
const notConnected: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "its host name cannot be resolved",
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
export class ConnectionError extends UpstreamError {
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

/** One request to a provider. */
export interface HttpRequest {
  /** Such as `https://api.example/v1`; the path is appended to it. */
  readonly baseUrl: string;
  readonly path: string;
  /** Headers as returned by {@link createHeaders}. */
  readonly headers: Readonly<Record<string, string>>;
  readonly method: HttpMethod;
  /** JSON text, or a form. */
  readonly body: string | FormData | Blob | undefined;
  /** Aborts the request and the reading of its response, and closes the connection. */
  readonly signal: AbortSignal;
}

/** A busy event loop learns of a closed connection so much later. */
const noticeMsMax = 50;
/** However slowly a provider answers, a connection that it had closed before is known to be closed in this time. */
const staleMsMax = 1000;

/**
 * Sends requests to providers by the platform's `fetch`, which keeps connections alive, verifies certificates and goes
 * through `HTTPS_PROXY`. It follows no redirect.
 */
export class HttpClient {
  readonly #fetch: typeof globalThis.fetch;
  readonly #now: () => number;
  /**
   * Shortest time in which each base URL has answered. Only a base URL that has answered can have an idle connection
   * that the provider closed.
   */
  readonly #leastMs = new Map<string, number>();

  constructor(fetch: typeof globalThis.fetch, now: () => number) {
    this.#fetch = fetch;
    this.#now = now;
  }

  /**
   * Resolves once the head of the response has arrived. A keep-alive connection that the provider closed at the same
   * moment fails as reset, and `fetch` neither retries nor says how old a connection was. So a request is sent once more, on
   * a new connection, if it was reset sooner than this provider has ever answered: it cannot have worked on it.
   *
   * @throws {ConnectionError} When no response came.
   * @throws The reason of the signal once that is aborted.
   */
  async request({ baseUrl, path, method, headers, body, signal }: HttpRequest): Promise<Response> {
    const sentAt = this.#now();
    for (let keepalive = true; ; keepalive = false) {
      // `timeout: false` turns off Bun's own limit of five minutes, which other platforms do not have.
      const init = {
        method,
        headers,
        body: body ?? null,
        signal,
        redirect: "manual",
        keepalive,
        timeout: false,
      } as const;
      try {
        const response = await this.#fetch(baseUrl + path, init);
        const tookMs = this.#now() - sentAt;
        if (tookMs < (this.#leastMs.get(baseUrl) ?? Number.POSITIVE_INFINITY)) this.#leastMs.set(baseUrl, tookMs);
        return response;
      } catch (cause) {
        if (signal.aborted) throw signal.reason;
        const error = new ConnectionError(cause);
        const leastMs = this.#leastMs.get(baseUrl);
        if (!keepalive || !error.isReset || leastMs === undefined) throw error;
        if (this.#now() - sentAt > Math.min(leastMs, staleMsMax) + noticeMsMax) throw error;
      }
    }
  }
}

const namePattern = /^[\w!#$%&'*+\-.^`|~]+$/;
const valuePattern = /^[\t\x20-\x7e]*$/;

/** Whether a value is allowed in a header of a request to a provider. */
export const isHeaderValue = (value: string): boolean => valuePattern.test(value);

/** Headers that describe the connection or the body: only the HTTP client sets them, against request smuggling. */
const reservedNames = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "sec-websocket-accept",
  "sec-websocket-extensions",
  "sec-websocket-key",
  "sec-websocket-protocol",
  "sec-websocket-version",
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
export function createHeaders(...sources: (Readonly<Record<string, string>> | undefined)[]): Record<string, string> {
  const headers: Record<string, string> = { ...defaultHeaders };
  for (const some of sources) {
    for (const name in some) addHeader(headers, name, some[name] as string);
  }
  return headers;
}

function addHeader(headers: Record<string, string>, name: string, value: string): void {
  const lower = name.toLowerCase();
  if (!namePattern.test(name)) throw new TypeError(`Cannot send the header ${JSON.stringify(name)}: invalid name`);
  if (reservedNames.has(lower)) {
    throw new TypeError(`Cannot send the header '${lower}': only the gateway sets it`);
  }
  if (!isHeaderValue(value)) {
    throw new TypeError(`Cannot send the header '${lower}': its value has a character that is not printable ASCII`);
  }
  headers[lower] = value;
}

export type Bytes = Uint8Array<ArrayBuffer>;

/** A declared body up to this size is read in one go: the time limit then counts for all of it. */
const wholeBytesMax = 64 * 1024;

/** The limits for reading a body. */
export interface BodyLimits {
  readonly timeouts: TimeoutScheduler;
  now(): number;
  /** The longest wait for a chunk. */
  readonly idleMsMax: number;
  /** Counted after decompression. */
  readonly bytesMax: number;
  /** Counts memory before a chunk is kept, and frees it where that is negative; may throw. Absent: nothing is kept. */
  readonly reserve?: ((bytes: number) => void) | undefined;
  /** Called when the provider is silent for longer; it aborts the request. */
  onIdle(): void;
  /** Converts a read error into the error to throw. */
  toUpstreamError(error: unknown): Error;
}

/** Time for what follows a complete answer before the connection is closed. */
const restMsMax = 1000;

/**
 * The chunks of a body as they arrive. Time counts only while a chunk is waited for.
 */
export class BodyReader {
  readonly #reader: ReadableStreamDefaultReader<Bytes> | undefined;
  readonly #limits: BodyLimits;
  readonly #timeout: Timeout;
  /** Ends the wait for what follows a complete answer. */
  #rest: Timeout | undefined;
  #total = 0;

  constructor(response: Response, limits: BodyLimits) {
    this.#reader = response.body?.getReader() as ReadableStreamDefaultReader<Bytes> | undefined;
    this.#limits = limits;
    this.#timeout = limits.timeouts.schedule(Number.POSITIVE_INFINITY, limits.onIdle);
  }

  /**
   * The next chunk; `undefined` at the end.
   *
   * @throws {UpstreamError} When the body breaks off, stalls or is too long.
   */
  async read(): Promise<Bytes | undefined> {
    const { now, idleMsMax, bytesMax, toUpstreamError, reserve } = this.#limits;
    try {
      this.#timeout.atMs = now() + idleMsMax;
      const value = this.#reader === undefined ? undefined : (await this.#reader.read()).value;
      this.#timeout.atMs = Number.POSITIVE_INFINITY;
      if (value === undefined) {
        this.cancel();
        return undefined;
      }
      const total = this.#total + value.byteLength;
      if (total > bytesMax) throw responseTooLongError(bytesMax);
      reserve?.(value.byteLength);
      this.#total = total;
      return value;
    } catch (error) {
      reserve?.(-this.#total);
      this.cancel();
      throw toUpstreamError(error);
    }
  }

  /** Closes the connection, unless all of the body has come. */
  cancel(): void {
    this.#limits.timeouts.cancel(this.#timeout);
    this.#endWait();
    this.#reader?.cancel().catch(() => undefined);
  }

  /** Reads and drops the rest if it arrives soon, so the connection can be used again. */
  drain(): void {
    this.linger();
    const reader = this.#reader;
    if (reader === undefined) return;
    const readAll = async () => {
      while ((await reader.read()).value !== undefined);
    };
    readAll()
      .catch(() => undefined)
      .finally(() => this.#endWait());
  }

  /**
   * Ends the body, except for what arrives soon; after that, nothing more is read. The earliest of several ends counts.
   */
  linger(ms = restMsMax): void {
    const { timeouts, now } = this.#limits;
    timeouts.cancel(this.#timeout);
    const reader = this.#reader;
    if (reader === undefined) return;
    const atMs = now() + ms;
    if (this.#rest === undefined)
      this.#rest = timeouts.schedule(atMs, () => void reader.cancel().catch(() => undefined));
    else this.#rest.atMs = Math.min(this.#rest.atMs, atMs);
  }

  #endWait(): void {
    if (this.#rest !== undefined) this.#limits.timeouts.cancel(this.#rest);
  }
}

/** Reads a body as an iterable of chunks. Leaving the loop early closes the connection. */
export async function* readAnswerChunks(response: Response, limits: BodyLimits): AsyncGenerator<Bytes, undefined> {
  if (response.body === null) return;
  const body = new BodyReader(response, limits);
  try {
    for (let chunk = await body.read(); chunk !== undefined; chunk = await body.read()) yield chunk;
  } finally {
    body.cancel();
  }
}

/**
 * Reads a whole body as text.
 *
 * @param onCut Gets the received part of a body that breaks off, stalls or is too long, and the least number of bytes
 * that the body has.
 * @throws {UpstreamError} If the body breaks off, stalls or is too long.
 */
export function readAnswerText(response: Response, limits: BodyLimits, onCut?: OnCut): Promise<string> {
  const length = getDeclaredLength(response);
  if (length !== undefined && length <= Math.min(wholeBytesMax, limits.bytesMax)) {
    return readWhole(response, limits, onCut);
  }
  return readPieces(response, limits, { length, onCut });
}

async function readPieces(
  response: Response,
  limits: BodyLimits,
  { length, onCut }: { length: number | undefined; onCut: OnCut | undefined },
): Promise<string> {
  if (length !== undefined && length > limits.bytesMax) {
    cancelBody(response);
    onCut?.([], length);
    throw responseTooLongError(limits.bytesMax);
  }
  const chunks: Bytes[] = [];
  try {
    for await (const chunk of readAnswerChunks(response, limits)) chunks.push(chunk);
  } catch (error) {
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
    onCut?.(chunks, error instanceof LongAnswerError ? limits.bytesMax : bytes);
    throw error;
  }
  return new Blob(chunks).text();
}

type OnCut = (chunks: readonly Bytes[], length: number) => void;

/** Without a reader: most answers are short, and this takes half the time. */
async function readWhole(
  response: Response,
  { timeouts, now, idleMsMax, onIdle, toUpstreamError }: BodyLimits,
  onCut?: OnCut,
): Promise<string> {
  const timeout = timeouts.schedule(now() + idleMsMax, onIdle);
  try {
    return await response.text();
  } catch (error) {
    onCut?.([], 0);
    throw toUpstreamError(error);
  } finally {
    timeouts.cancel(timeout);
  }
}

/** The beginning of a body as text, as far as it arrives within the limits. After an error it is empty. */
export async function readTextStart(response: Response, limits: BodyLimits): Promise<string> {
  const chunks: Bytes[] = [];
  let total = 0;
  try {
    for await (const chunk of readAnswerChunks(response, { ...limits, bytesMax: Number.POSITIVE_INFINITY })) {
      chunks.push(chunk);
      total += chunk.byteLength;
      if (total >= limits.bytesMax) break;
    }
  } catch {
    return "";
  }
  return new Blob(chunks).slice(0, limits.bytesMax).text();
}

/** Closes the connection of a response whose body is not read. */
export function cancelBody({ body }: Response): void {
  body?.cancel().catch(() => undefined);
}

/** The declared length of a body; `undefined` when it is not the length after decompression. */
function getDeclaredLength({ headers }: Response): number | undefined {
  const length = headers.get("content-length");
  if (length === null || headers.has("content-encoding") || headers.has("transfer-encoding")) return undefined;
  return /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

/** An answer that is longer than the gateway takes. Its size is the caller's choice, so it tells nothing of the route. */
export class LongAnswerError extends UpstreamError {}

export function responseTooLongError(bytesMax: number): UpstreamError {
  const message = `The provider's answer is longer than ${bytesMax} bytes`;
  return new LongAnswerError("bad_response", message, { isOfRequest: true });
}
