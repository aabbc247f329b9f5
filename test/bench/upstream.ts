/**
 * The loopback provider: OpenAI's chat answers, made beforehand and written to a raw socket, so that it costs little
 * beside what is measured. Chunks of one stream are always writes of their own.
 */
import { answerText, chunkCount, chunkIntervalMs, chunkTexts, pacedMark, usage } from "./job.ts";
import { announce } from "./parent.ts";

interface Connection {
  received: string;
}

const head = { id: "chatcmpl-0123456789abcdefghijklmnopqrs", created: 1_763_700_000, model: "gpt-4.1-nano-2025-04-14" };
const tail = { service_tier: "default", system_fingerprint: "fp_0123456789" };

const json = JSON.stringify({
  ...head,
  object: "chat.completion",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: answerText, refusal: null, annotations: [] },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  usage,
  ...tail,
});
const wholeAnswer = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`,
);

const pieces = Array.from({ length: chunkCount }, (_, index) => Buffer.from(pieceAt(index)));

function pieceAt(index: number): string {
  const event = `data: ${JSON.stringify(chunkAt(index))}\n\n`;
  const isLast = index === chunkCount - 1;
  const framed = frame(isLast ? `${event}data: [DONE]\n\n` : event);
  if (isLast) return `${framed}0\r\n\r\n`;
  if (index > 0) return framed;
  return `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n${framed}`;
}

function chunkAt(index: number): unknown {
  const base = { ...head, object: "chat.completion.chunk", ...tail };
  if (index === chunkCount - 1) return { ...base, choices: [], usage };
  const isEnd = index === chunkCount - 2;
  const delta = index === 0 ? { role: "assistant", content: "" } : isEnd ? {} : { content: chunkTexts[index - 1] };
  const choice = { index: 0, delta, logprobs: null, finish_reason: isEnd ? "stop" : null };
  return { ...base, choices: [choice], usage: null, obfuscation: "abcdefgh" };
}

function frame(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

type Socket = Bun.Socket<Connection>;

/** Streams on their way. One slot a millisecond of the interval, so that paced streams do not all move at once. */
const paced: Map<Socket, number>[] = Array.from({ length: chunkIntervalMs }, () => new Map());
const burst = new Map<Socket, number>();
let turn = 0;
let isBursting = false;

function advance(streams: Map<Socket, number>): void {
  for (const [socket, index] of streams) {
    socket.write(pieces[index] as Buffer);
    if (index + 1 === chunkCount) streams.delete(socket);
    else streams.set(socket, index + 1);
  }
}

function advanceBurst(): void {
  advance(burst);
  isBursting = burst.size > 0;
  if (isBursting) setImmediate(advanceBurst);
}

setInterval(() => advance(paced[turn++ % chunkIntervalMs] as Map<Socket, number>), 1);

function answer(socket: Socket, body: string): void {
  if (!body.includes('"stream":true')) {
    socket.write(wholeAnswer);
  } else if (body.includes(pacedMark)) {
    const fewest = paced.reduce((least, slot) => (slot.size < least.size ? slot : least));
    fewest.set(socket, 0);
  } else {
    burst.set(socket, 0);
    if (!isBursting) setImmediate(advanceBurst);
    isBursting = true;
  }
}

function forget(socket: Socket): void {
  burst.delete(socket);
  for (const slot of paced) slot.delete(socket);
}

const server = Bun.listen<Connection>({
  hostname: "127.0.0.1",
  port: 0,
  socket: {
    open(socket) {
      socket.data = { received: "" };
    },
    data(socket, bytes) {
      const received = socket.data.received + bytes.toString("latin1");
      const bodyAt = received.indexOf("\r\n\r\n") + 4;
      const length = /content-length: (\d+)/i.exec(received)?.[1];
      if (bodyAt < 4 || received.length < bodyAt + Number(length)) {
        socket.data.received = received;
        return;
      }
      socket.data.received = "";
      answer(socket, received.slice(bodyAt));
    },
    close: forget,
    error: forget,
  },
});
announce(server.port);
