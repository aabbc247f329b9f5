import { Buffer } from "node:buffer";
import type { LookupFunction } from "node:net";
import type { ConnectionOptions } from "node:tls";
import type { Answer, Question } from "./ask.ts";
import { Exchange, type Letter } from "./exchange.ts";
import type { Dial } from "./line.ts";
import { dialByNode } from "./node-line.ts";
import { type Dialling, defaultPoolBounds, Pool, type PoolBounds } from "./pool.ts";
import { headerLines } from "./request-head.ts";
import { readTarget, requestPath, type Target } from "./target.ts";

/** What a test may want otherwise. */
export interface WireOptions {
  bounds?: Partial<PoolBounds>;
  /** Beside the system's, such as a `ca` of one's own. Verification cannot be turned off. */
  tls?: ConnectionOptions;
  now?: () => number;
  /** Says at which addresses a host name may be reached; absent: the system does. */
  lookup?: LookupFunction;
  /** By what sockets are opened; absent: `node:net`. */
  dial?: Dial;
}

/** What is kept of a base URL. */
interface Place {
  target: Target;
  pool: Pool;
  /** Paths in the form of a request line. */
  paths: Map<string, string>;
}

const pathsMax = 1000;
const sweepMs = 1000;

/**
 * Asks by HTTP/1.1 over sockets of its own: in one thread, without a bound on how many at once but that of the
 * pool, and for about half the CPU time of the platform's `fetch`. It knows no proxies, redirects, cookies or caches.
 */
export class WireClient {
  readonly #places = new Map<string, Place>();
  readonly #pools = new Map<string, Pool>();
  readonly #lines = new WeakMap<Readonly<Record<string, string>>, { host: string; lines: string }>();
  readonly #bounds: PoolBounds;
  readonly #dialling: Dialling;
  readonly #now: () => number;
  #sweep: ReturnType<typeof setInterval> | undefined;

  constructor({ bounds, tls = {}, now = Date.now, lookup, dial = dialByNode }: WireOptions = {}) {
    this.#bounds = { ...defaultPoolBounds, ...bounds };
    this.#dialling = { tls, dial, lookup };
    this.#now = now;
  }

  /** Connections in all pools, and how many of them are idle. */
  get counts(): { open: number; idle: number } {
    let [open, idle] = [0, 0];
    for (const pool of this.#pools.values()) {
      open += pool.openCount;
      idle += pool.idleCount;
    }
    return { open, idle };
  }

  /** An `Ask`, bound to this client. */
  readonly ask = (question: Question): Promise<Answer> => {
    try {
      const { body, signal } = question;
      const place = this.#placeOf(question.baseUrl);
      const start = this.#startOf(place, question);
      const send = (letter: Letter) => new Exchange(place.pool, letter, this.#now).start();
      if (typeof body === "string") return send(textLetter(start, body, signal));
      if (body === undefined) return send({ head: `${start}\r\n`, body: "", isAscii: true, signal });
      return formLetter(start, body, signal).then(send);
    } catch (error) {
      return Promise.reject(error);
    }
  };

  /** Closes idle connections. Those in use go on. */
  close(): void {
    for (const pool of this.#pools.values()) pool.closeIdle();
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }

  /** The head of a request, but for the lines on its body. */
  #startOf({ target, paths }: Place, { path, headers, more, body }: Question): string {
    let line = body === undefined ? `GET ${requestPath(target, path)} HTTP/1.1\r\n` : paths.get(path);
    if (line === undefined) {
      line = `POST ${requestPath(target, path)} HTTP/1.1\r\n`;
      if (paths.size >= pathsMax) paths.clear();
      paths.set(path, line);
    }
    if (more !== undefined) return line + headerLines(target.hostHeader, { ...headers, ...more });
    let known = this.#lines.get(headers);
    if (known === undefined || known.host !== target.hostHeader) {
      known = { host: target.hostHeader, lines: headerLines(target.hostHeader, headers) };
      this.#lines.set(headers, known);
    }
    return line + known.lines;
  }

  #placeOf(baseUrl: string): Place {
    const known = this.#places.get(baseUrl);
    if (known !== undefined) return known;
    const target = readTarget(baseUrl);
    let pool = this.#pools.get(target.origin);
    if (pool === undefined) {
      pool = new Pool(target, this.#dialling, this.#bounds);
      this.#pools.set(target.origin, pool);
      this.#startSweep();
    }
    const place = { target, pool, paths: new Map<string, string>() };
    this.#places.set(baseUrl, place);
    return place;
  }

  #startSweep(): void {
    if (this.#sweep !== undefined) return;
    this.#sweep = setInterval(() => {
      for (const pool of this.#pools.values()) pool.closeOld(this.#now());
    }, sweepMs);
    this.#sweep.unref?.();
  }
}

function textLetter(start: string, body: string, signal: AbortSignal): Letter {
  const length = Buffer.byteLength(body);
  const head = `${start}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
  return { head, body, isAscii: length === body.length, signal };
}

async function formLetter(start: string, form: FormData, signal: AbortSignal): Promise<Letter> {
  const encoded = new Response(form);
  const contentType = encoded.headers.get("content-type");
  const body = new Uint8Array(await encoded.arrayBuffer());
  const head = `${start}content-type: ${contentType}\r\ncontent-length: ${body.byteLength}\r\n\r\n`;
  return { head, body, isAscii: false, signal };
}
