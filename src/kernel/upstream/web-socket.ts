/**
 * Connections by WebSocket to providers. The handshake is a request of the platform's own client, which is bound to the addresses that
 * were checked, verifies the certificate for the name and goes through a proxy; a refusal is an ordinary response. Frames are read and
 * written by `lib/web-socket.ts`. (Bun's own WebSocket does not say why a handshake was refused, takes no address, and bounds no message; the
 * package `ws` is replaced by it under Bun.)
 */
import { createHash } from "node:crypto";
import { lookup as lookUp } from "node:dns";
import { type ClientRequest, type IncomingMessage, request as plainRequest } from "node:http";
import { Agent, type RequestOptions, request as tlsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { type Duplex, Readable } from "node:stream";
import { UpstreamError } from "../../contract/index.ts";
import { type Bytes, ConnectionError } from "./http-client.ts";

/** A handshake that is about to be sent. */
export interface WebSocketRequest {
  /** `http:` or `https:`. */
  readonly url: URL;
  /** As `createHeaders` returns them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The subprotocols that are offered. */
  readonly protocols: readonly string[];
  /** Closes the connection. */
  readonly signal: AbortSignal;
  /** The only addresses to connect to; `undefined`: any. Not asked where a proxy connects. */
  findAddresses(): Promise<readonly string[] | undefined>;
}

/** A connection after its handshake: bytes of frames, both ways. */
export interface WebSocketConnection {
  /** The subprotocol that the server chose; empty: none. */
  readonly protocol: string;
  readonly frames: ReadableStream<Bytes>;
  /** Whether it takes more without keeping it in memory. */
  write(frame: Bytes): boolean;
  /** Resolves when what was written has been taken, or the connection has ended. */
  whenWritable(): Promise<void>;
  /** Sends a last frame and closes the connection. */
  end(frame: Bytes): void;
}

/**
 * Opens a connection; a `Response` is the server's refusal.
 *
 * @throws {ConnectionError} When no connection came about, or its server does not speak the protocol.
 * @throws The reason of the signal once that is aborted.
 */
export type OpenWebSocket = (request: WebSocketRequest) => Promise<WebSocketConnection | Response>;

interface OpenWebSocketOptions {
  /** `HTTPS_PROXY` and `NO_PROXY`; absent: connections are direct. Over `http:` they always are. */
  readonly proxyEnv?: Readonly<Record<string, string>> | undefined;
  /** Certificate authorities in addition to the system's. */
  readonly ca?: string | undefined;
}

/** How RFC 6455 (section 1.3) proves that the server read the handshake. */
const handshakeId = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** Maximum number of bytes that are read ahead of the reader. */
const readAheadBytes = 256 * 1024;

export function createOpenWebSocket({ proxyEnv, ca }: OpenWebSocketOptions = {}): OpenWebSocket {
  return async (request) => {
    const { url, headers, protocols, signal } = request;
    const isPlain = url.protocol === "http:";
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const key = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64");
    const { lookup, refusal } = createLookup(host, request);
    const options: RequestOptions = {
      host,
      port: url.port === "" ? (isPlain ? 80 : 443) : Number(url.port),
      path: url.pathname + url.search,
      headers: {
        ...headers,
        host: url.host,
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": key,
        ...(protocols.length > 0 && { "sec-websocket-protocol": protocols.join(", ") }),
      },
      rejectUnauthorized: true,
      signal,
      lookup,
      agent: proxyEnv === undefined || isPlain ? false : new Agent({ proxyEnv }),
      ...(isIP(host) === 0 && { servername: host }),
      ...(ca !== undefined && { ca }),
    };
    try {
      signal.throwIfAborted();
      const answer = await sendHandshake((isPlain ? plainRequest : tlsRequest)(options));
      if (answer instanceof Response) return answer;
      const { response, socket, head } = answer;
      const fault = findHandshakeError(response, key, protocols);
      if (fault !== undefined) {
        socket.destroy();
        throw new UpstreamError("bad_response", `The provider's WebSocket handshake ${fault}`);
      }
      return openConnection(socket, head, { protocol: response.headers["sec-websocket-protocol"] ?? "", signal });
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      const error = refusal() ?? cause;
      throw error instanceof UpstreamError ? error : new ConnectionError(error);
    }
  };
}

/** Binds a connection to the addresses that were checked. A proxy is looked up as usual. */
function createLookup(host: string, { findAddresses }: WebSocketRequest) {
  let refusal: unknown;
  const lookup: LookupFunction = (hostname, options, callback) => {
    if (hostname !== host) return lookUp(hostname, options, callback);
    findAddresses().then(
      (addresses) => {
        if (addresses === undefined) return lookUp(hostname, options, callback);
        const [first] = addresses;
        if (first === undefined) return callback(Object.assign(new Error("no address"), { code: "ENOTFOUND" }), "", 4);
        const records = addresses.map((address) => ({ address, family: isIP(address) }));
        return options.all === true ? callback(null, records) : callback(null, first, isIP(first));
      },
      (error: NodeJS.ErrnoException) => {
        refusal = error;
        callback(error, "", 4);
      },
    );
  };
  return { lookup, refusal: () => refusal };
}

interface Upgrade {
  readonly response: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that came behind the head of the response. */
  readonly head: Buffer;
}

function sendHandshake(request: ClientRequest): Promise<Upgrade | Response> {
  return new Promise((resolve, reject) => {
    request.on("error", reject);
    request.on("upgrade", (response, socket, head) => resolve({ response, socket, head }));
    request.on("response", (message) => {
      // Without a listener an error after the head, such as an abort, would end the process.
      message.on("error", () => undefined);
      try {
        resolve(toResponse(message));
      } catch (error) {
        reject(error);
      }
    });
    request.end();
  });
}

function toResponse(message: IncomingMessage): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headers)) headers.set(name, String(value));
  const status = message.statusCode ?? 0;
  const hasBody = status !== 204 && status !== 205 && status !== 304;
  return new Response(hasBody ? (Readable.toWeb(message) as unknown as ReadableStream) : null, { status, headers });
}

function findHandshakeError(
  { headers }: IncomingMessage,
  key: string,
  protocols: readonly string[],
): string | undefined {
  const accept = createHash("sha1")
    .update(key + handshakeId)
    .digest("base64");
  if (headers["sec-websocket-accept"] !== accept) return "does not prove that it read the request";
  if (headers["sec-websocket-extensions"] !== undefined) return "chose an extension that was not offered";
  const protocol = headers["sec-websocket-protocol"];
  const isKnown = protocol === undefined ? protocols.length === 0 : protocols.includes(protocol);
  return isKnown ? undefined : "did not choose an offered subprotocol";
}

function openConnection(
  socket: Duplex,
  head: Buffer,
  { protocol, signal }: { protocol: string; signal: AbortSignal },
): WebSocketConnection {
  const abort = () => socket.destroy();
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  let waiting: (() => void)[] = [];
  const wake = () => {
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  socket.on("drain", wake);
  let hasEnded = false;
  const frames = new ReadableStream<Bytes>(
    {
      start(controller) {
        const end = (error: unknown = signal.aborted ? signal.reason : undefined) => {
          if (hasEnded) return;
          hasEnded = true;
          if (error === undefined) controller.close();
          else controller.error(error);
        };
        const take = (bytes: Buffer) => {
          if (hasEnded) return;
          controller.enqueue(bytes as unknown as Bytes);
          if ((controller.desiredSize ?? 0) <= 0) socket.pause();
        };
        if (head.length > 0) take(head);
        socket.on("data", take);
        socket.on("end", () => end());
        socket.on("error", end);
        socket.on("close", () => {
          signal.removeEventListener("abort", abort);
          wake();
          end();
        });
      },
      pull: () => void socket.resume(),
      cancel() {
        hasEnded = true;
        socket.destroy();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: readAheadBytes }),
  );
  return {
    protocol,
    frames,
    write: (frame) => !socket.destroyed && socket.write(frame),
    whenWritable: () =>
      new Promise((resolve) => {
        if (socket.destroyed || !socket.writableNeedDrain) resolve();
        else waiting.push(resolve);
      }),
    end: (frame) => {
      if (!socket.destroyed) socket.end(frame, () => socket.destroy());
    },
  };
}
