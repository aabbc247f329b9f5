/**
 * The loopback provider: OpenAI's chat and Responses and Anthropic's Messages, made beforehand and written to a raw
 * socket, so that it costs little beside what is measured. Chunks of one stream are always writes of their own.
 *
 * `upstream.ts [KEY CERTIFICATE]`: with the two files it speaks TLS, as providers do.
 */
import { type Answers, chatAnswers, messagesAnswers, responsesAnswers } from "./answers.ts";
import { chunkIntervalMs, pacedMark, pathOf } from "./job.ts";
import { announce } from "./parent.ts";

interface Connection {
  received: Uint8Array[];
  /** Bytes of the request under way, once its head has arrived. */
  wanted: number | undefined;
}

type Socket = Bun.Socket<Connection>;

/** A stream on its way. */
interface Stream {
  pieces: readonly Buffer[];
  next: number;
}

const answersAt = new Map<string, Answers>([
  [pathOf.chat, chatAnswers],
  [pathOf.responses, responsesAnswers],
  [pathOf.messages, messagesAnswers],
]);

/** One slot a millisecond of the interval, so that paced streams do not all move at once. */
const paced: Map<Socket, Stream>[] = Array.from({ length: chunkIntervalMs }, () => new Map());
const burst = new Map<Socket, Stream>();
let turn = 0;
let isBursting = false;

function advance(streams: Map<Socket, Stream>): void {
  for (const [socket, stream] of streams) {
    socket.write(stream.pieces[stream.next++] as Buffer);
    if (stream.next === stream.pieces.length) streams.delete(socket);
  }
}

function advanceBurst(): void {
  advance(burst);
  isBursting = burst.size > 0;
  if (isBursting) setImmediate(advanceBurst);
}

setInterval(() => advance(paced[turn++ % chunkIntervalMs] as Map<Socket, Stream>), 1);

function answer(socket: Socket, request: Buffer): void {
  const path = request.toString("latin1", request.indexOf(" ") + 1, request.indexOf(" HTTP/1.1"));
  const answers = answersAt.get(path.split("?", 1)[0] as string) ?? chatAnswers;
  if (!request.includes('"stream":true')) {
    socket.write(answers.whole);
    return;
  }
  const stream = { pieces: answers.pieces, next: 0 };
  if (request.includes(pacedMark)) {
    const fewest = paced.reduce((least, slot) => (slot.size < least.size ? slot : least));
    fewest.set(socket, stream);
  } else {
    burst.set(socket, stream);
    if (!isBursting) setImmediate(advanceBurst);
    isBursting = true;
  }
}

/** The bytes of a request with this beginning; `undefined` while its head is not whole. */
function lengthOf(bytes: Buffer): number | undefined {
  const bodyAt = bytes.indexOf("\r\n\r\n") + 4;
  if (bodyAt < 4) return undefined;
  return bodyAt + Number(/content-length: (\d+)/i.exec(bytes.toString("latin1", 0, bodyAt))?.[1]);
}

function receive(socket: Socket, bytes: Uint8Array): void {
  const connection = socket.data;
  connection.received.push(bytes);
  connection.wanted ??= lengthOf(Buffer.concat(connection.received));
  const received = connection.received.reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (connection.wanted === undefined || received < connection.wanted) return;
  const request = Buffer.concat(connection.received);
  socket.data = { received: [], wanted: undefined };
  answer(socket, request);
}

function forget(socket: Socket): void {
  burst.delete(socket);
  for (const slot of paced) slot.delete(socket);
}

const [key, cert] = process.argv.slice(2);
const server = Bun.listen<Connection>({
  hostname: "127.0.0.1",
  port: 0,
  ...(key !== undefined && cert !== undefined && { tls: { key: Bun.file(key), cert: Bun.file(cert) } }),
  socket: {
    open(socket) {
      socket.data = { received: [], wanted: undefined };
    },
    data: (socket, bytes) => receive(socket, Uint8Array.from(bytes)),
    close: forget,
    error: forget,
  },
});
announce(server.port);
