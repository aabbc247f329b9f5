import { createServer, type Socket } from "node:net";

/** A request as it came, byte for byte. */
export interface RawRequest {
  head: string;
  body: string;
  /** The how-manieth connection it came on, from 0. */
  connection: number;
}

/** A server that answers with the very bytes it is told to. */
export interface RawServer {
  baseUrl: string;
  readonly requests: RawRequest[];
  /** Connections that are open. */
  readonly open: ReadonlySet<Socket>;
  /** How many connections there were. */
  readonly accepted: number;
  stop(): Promise<void>;
}

type Answer = string | Uint8Array | ((socket: Socket, request: RawRequest) => void);

/** Answers requests in turn, the last answer for ever. */
export async function startRaw(...answers: Answer[]): Promise<RawServer> {
  const requests: RawRequest[] = [];
  const open = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    const connection = accepted++;
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      for (;;) {
        const request = takeRequest(text);
        if (request === undefined) return;
        text = text.slice(request.head.length + 4 + request.body.length);
        const seen = { ...request, connection };
        const answer = answers[Math.min(requests.length, answers.length - 1)];
        requests.push(seen);
        if (typeof answer === "function") answer(socket, seen);
        else if (answer !== undefined) socket.write(answer);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    open,
    get accepted() {
      return accepted;
    },
    stop: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function takeRequest(text: string): { head: string; body: string } | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const head = text.slice(0, end);
  const length = Number(/\r\ncontent-length: (\d+)(?:\r\n|$)/i.exec(head)?.[1] ?? 0);
  const body = text.slice(end + 4, end + 4 + length);
  return body.length < length ? undefined : { head, body };
}

/** An answer of a status with a body whose length is said. */
export function answerOf(body: string, more: string[] = [], status = "200 OK"): string {
  const lines = [`HTTP/1.1 ${status}`, `content-length: ${Buffer.byteLength(body)}`, ...more];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** A chunked answer, each piece a chunk. */
export function chunkedOf(pieces: string[], trailers: string[] = []): string {
  const chunks = pieces.map((piece) => `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`);
  const end = ["0", ...trailers].map((line) => `${line}\r\n`).join("");
  return `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks.join("")}${end}\r\n`;
}
