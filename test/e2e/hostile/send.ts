import { connect } from "node:net";

/** Where hostile input goes, and by which key. */
export interface Target {
  origin: string;
  /** Of an account without money. */
  key: string;
}

/** A request as bytes. `chunkBytes` sends the body in chunks of this size instead of declaring its length. */
export interface RawRequest {
  path: string;
  body: string | Uint8Array;
  contentType?: string;
  chunkBytes?: number;
  key?: string;
}

const answerMsMax = 60_000;

/** Sends a request on a connection of its own; resolves to its status, or to 0 when the connection closed without one. */
function send({ origin, key }: Target, request: RawRequest): Promise<number> {
  const body = Buffer.from(request.body as string);
  const { contentType = "application/json", chunkBytes } = request;
  const length = chunkBytes === undefined ? `content-length: ${body.length}` : "transfer-encoding: chunked";
  const lines = [`authorization: Bearer ${request.key ?? key}`, `content-type: ${contentType}`, length];
  const head = `POST ${request.path} HTTP/1.1\r\nhost: localhost\r\n${lines.join("\r\n")}\r\n\r\n`;
  return exchange(origin, [head, chunkBytes === undefined ? body : toChunks(body, chunkBytes)]);
}

function toChunks(body: Buffer, bytes: number): Buffer {
  const whole = Math.floor(body.length / bytes);
  const chunk = (from: number, length: number) => [
    `${length.toString(16)}\r\n`,
    body.subarray(from, from + length),
    "\r\n",
  ];
  const parts = Array.from({ length: whole }, (_, index) => chunk(index * bytes, bytes)).flat();
  if (body.length > whole * bytes) parts.push(...chunk(whole * bytes, body.length - whole * bytes));
  return Buffer.concat([...parts, "0\r\n\r\n"].map((part) => Buffer.from(part as string)));
}

/** Writes bytes on a fresh connection and waits for the status of the first answer; 0 when there is none. */
export function exchange(origin: string, pieces: readonly (string | Buffer)[]): Promise<number> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      for (const piece of pieces) socket.write(piece);
    });
    const finish = (status: number) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(status);
    };
    const timer = setTimeout(() => finish(0), answerMsMax);
    socket.on("data", (bytes) => finish(Number(/^HTTP\/1\.1 (\d{3})/.exec(bytes.toString("latin1"))?.[1] ?? 0)));
    socket.on("error", () => finish(0));
    socket.on("close", () => finish(0));
  });
}

/** Opens connections that send a start and then a byte now and then, for so long; resolves to how many were answered. */
export async function dawdle(target: Target, { count, start, ms }: { count: number; start: string; ms: number }) {
  const { hostname, port } = new URL(target.origin);
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(Number(port), hostname, () => socket.write(start));
    return socket.on("error", () => undefined);
  });
  for (const end = performance.now() + ms; performance.now() < end; await Bun.sleep(200))
    for (const socket of sockets) if (start !== "") socket.write("x");
  for (const socket of sockets) socket.destroy();
  return [] as number[];
}

/** Sends several at a time, each on its own connection. */
export async function sendAll(target: Target, times: number, request: RawRequest): Promise<number[]> {
  return Promise.all(Array.from({ length: times }, () => send(target, request)));
}
