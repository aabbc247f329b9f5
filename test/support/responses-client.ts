import { connect } from "node:net";

/** An event of the Responses protocol, as a test looks at it. */
export interface SocketEvent {
  type: string;
  stream_id?: string;
  status?: number;
  headers?: Record<string, string>;
  error?: { code: string; type: string; message: string; param: string | null };
  // biome-ignore lint/suspicious/noExplicitAny: each event has members of its own, and the test that looks knows them
  [member: string]: any;
}

const isLast = ({ type }: SocketEvent) => /^(response\.(completed|incomplete|failed|steer\.failed)|error)$/.test(type);

/** A client of GET /responses that knows nothing of its protocol but when a turn ends. */
export class ResponsesClient {
  readonly events: SocketEvent[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #socket: WebSocket;
  readonly #opened: Promise<void>;
  #onEvent: () => void = () => undefined;
  #ended = 0;

  constructor(baseUrl: string, headers: Record<string, string>) {
    // Bun's client takes headers, which the platform's types do not have.
    this.#socket = new WebSocket(`${baseUrl.replace("http", "ws")}/responses`, { headers } as never);
    const socket = this.#socket;
    const closed = Promise.withResolvers<{ code: number; reason: string }>();
    this.closed = closed.promise;
    this.#opened = new Promise((resolve, reject) => {
      socket.onopen = () => resolve();
      socket.onerror = () => reject(new Error("The WebSocket was not opened"));
    });
    socket.onmessage = ({ data }) => {
      this.events.push(JSON.parse(data as string));
      this.#onEvent();
    };
    socket.onclose = ({ code, reason }) => {
      closed.resolve({ code, reason });
      this.#onEvent();
    };
  }

  static async open(baseUrl: string, key: string, headers: Record<string, string> = {}): Promise<ResponsesClient> {
    const client = new ResponsesClient(baseUrl, { authorization: `Bearer ${key}`, ...headers });
    await client.#opened;
    return client;
  }

  send(event: object | string | Uint8Array<ArrayBuffer>): void {
    const isRaw = typeof event === "string" || event instanceof Uint8Array;
    this.#socket.send(isRaw ? event : JSON.stringify(event));
  }

  /** Sends a turn and waits until one has ended. */
  async turn(body: object): Promise<SocketEvent> {
    this.send({ type: "response.create", ...body });
    return await this.ended();
  }

  /** The last event of the next turn that ends, in the order in which they end. */
  async ended(): Promise<SocketEvent> {
    const last = await this.until((event) => isLast(event), this.#ended);
    this.#ended++;
    return last;
  }

  /** The event of this kind, after so many others of it. */
  async until(isIt: (event: SocketEvent) => boolean, skipped = 0): Promise<SocketEvent> {
    for (;;) {
      const event = this.events.filter(isIt)[skipped];
      if (event !== undefined) return event;
      if (this.#socket.readyState >= WebSocket.CLOSING) throw new Error("The connection ended before this event came");
      await new Promise<void>((resolve) => {
        this.#onEvent = resolve;
      });
    }
  }

  close(): void {
    this.#socket.close();
  }

  /** Ends it without a handshake, as a process does that dies. */
  terminate(): void {
    (this.#socket as WebSocket & { terminate(): void }).terminate();
  }
}

/** Headers of a handshake that a server answers with 101. */
export const webSocketHandshake = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};

/** A connection whose client takes no byte after the handshake. */
export async function openWithoutReading({ baseUrl, key }: { baseUrl: string; key: string }) {
  const { hostname, port, host, pathname } = new URL(`${baseUrl}/responses`);
  const socket = connect(Number(port), hostname);
  const headers = { host, ...webSocketHandshake, authorization: `Bearer ${key}` };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${pathname} HTTP/1.1\r\n${lines.join("")}\r\n`);
  await new Promise((resolve) => socket.once("data", resolve));
  socket.pause();
  socket.on("error", () => undefined);
  return socket;
}

/** A short text frame of a client, with a mask of zeros. */
export function frameOf(text: string): Uint8Array {
  const payload = new TextEncoder().encode(text);
  const head = payload.length < 126 ? [payload.length | 0x80] : [126 | 0x80, payload.length >> 8, payload.length & 255];
  return Uint8Array.from([0x81, ...head, 0, 0, 0, 0, ...payload]);
}
