/**
 * The loopback provider: OpenAI's chat and Responses and Anthropic's Messages, made beforehand and written to a raw
 * socket, so that it costs little beside what is measured. Chunks of one stream are always writes of their own.
 *
 * `upstream.ts [KEY CERTIFICATE]`: with the two files it speaks TLS, as providers do.
 */
import { type Answers, chatAnswers, messagesAnswers, responsesAnswers } from "./answers.ts";
import { chunkIntervalMs, pathOf, streamMarks } from "./job.ts";
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

const openPath = "/open";

/** One slot a millisecond of the interval, so that paced streams do not all move at once. */
const paced: Map<Socket, Stream>[] = Array.from({ length: chunkIntervalMs }, () => new Map());
const burst = new Map<Socket, Stream>();
/** Streams that stay open after two pieces, until they are let go on. */
const open = new Map<Socket, Stream>();
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

/** Answers the bench itself: how many streams stay open, all of which go on from now if it says so. */
function tellOpen(socket: Socket, goOn: boolean): void {
  const body = String(open.size);
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  if (!goOn) return;
  for (const [each, stream] of open) startBurst(each, stream);
  open.clear();
}

function startBurst(socket: Socket, stream: Stream): void {
  burst.set(socket, stream);
  if (!isBursting) setImmediate(advanceBurst);
  isBursting = true;
}

function answer(socket: Socket, request: Buffer): void {
  const path = request.toString("latin1", request.indexOf(" ") + 1, request.indexOf(" HTTP/1.1"));
  if (path.startsWith(openPath)) {
    tellOpen(socket, path.endsWith("/go-on"));
    return;
  }
  const answers = answersAt.get(path.split("?", 1)[0] as string) ?? chatAnswers;
  // Python's JSON has a space there.
  if (!request.includes('"stream":true') && !request.includes('"stream": true')) {
    socket.write(answers.whole);
    return;
  }
  const stream = { pieces: answers.pieces, next: 0 };
  if (request.includes(streamMarks.paced)) {
    const fewest = paced.reduce((least, slot) => (slot.size < least.size ? slot : least));
    fewest.set(socket, stream);
  } else if (request.includes(streamMarks.open)) {
    for (let sent = 0; sent < 2; sent++) socket.write(stream.pieces[stream.next++] as Buffer);
    open.set(socket, stream);
  } else {
    startBurst(socket, stream);
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
  open.delete(socket);
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
