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

/** The bytes of a request: its head and its body. */
export function toPieces({ key }: Target, request: RawRequest): Buffer[] {
  const body = Buffer.from(request.body as string);
  const { contentType = "application/json", chunkBytes } = request;
  const length = chunkBytes === undefined ? `content-length: ${body.length}` : "transfer-encoding: chunked";
  const lines = [`authorization: Bearer ${request.key ?? key}`, `content-type: ${contentType}`, length];
  const head = `POST ${request.path} HTTP/1.1\r\nhost: localhost\r\n${lines.join("\r\n")}\r\n\r\n`;
  return [Buffer.from(head), chunkBytes === undefined ? body : toChunks(body, chunkBytes)];
}

function toChunks(body: Buffer, bytes: number): Buffer {
  const [head, end] = [`${bytes.toString(16)}\r\n`, "\r\n"];
  const whole = Math.floor(body.length / bytes);
  const chunks = Buffer.alloc(whole * (head.length + bytes + end.length));
  let at = 0;
  for (let index = 0; index < whole; index++) {
    at += chunks.write(head, at, "latin1");
    at += body.copy(chunks, at, index * bytes, (index + 1) * bytes);
    at += chunks.write(end, at, "latin1");
  }
  const rest = body.subarray(whole * bytes);
  const last = rest.length === 0 ? [] : [Buffer.from(`${rest.length.toString(16)}\r\n`), rest, Buffer.from(end)];
  return Buffer.concat([chunks, ...last, Buffer.from("0\r\n\r\n")]);
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

/** Sends the same bytes several times at once, each on a connection of its own; resolves to the statuses. */
export function sendAll({ origin }: Target, times: number, pieces: readonly Buffer[]): Promise<number[]> {
  return Promise.all(Array.from({ length: times }, () => exchange(origin, pieces)));
}
