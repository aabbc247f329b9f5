import { afterAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { SseStream } from "../../../../src/http/sse/sse-stream.bun.ts";
import { until } from "../../../support/until.ts";

/** Who is told that the client has left. */
const clientOf = () => ({
  hasLeft: false,
  cancel() {
    this.hasLeft = true;
  },
});

const stops: (() => void)[] = [];
afterAll(() => {
  for (const stop of stops) stop();
});

/** An outlet behind a real socket, whose body is sent when `answer` is called. */
function served() {
  const call = clientOf();
  const sink = new SseStream<string>(call, (text) => text);
  const { promise, resolve: answer } = Promise.withResolvers<void>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async () => {
      await promise;
      return new Response(sink.body);
    },
  });
  const client = connect(server.port as number, "127.0.0.1", () => client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n"));
  let text = "";
  client.on("data", (bytes: Buffer) => {
    text += bytes.toString("latin1");
  });
  client.on("error", () => undefined);
  stops.push(() => {
    client.destroy();
    server.stop(true);
  });
  return {
    sink,
    call,
    client,
    answer,
    body: () => text.slice(text.indexOf("\r\n\r\n") + 4),
    received: () => text,
  };
}

/** The chunks in which a body came: each is one write of the gateway. */
function chunksIn(body: string): string[] {
  const chunks: string[] = [];
  for (let at = 0; at < body.length; ) {
    const lineEnd = body.indexOf("\r\n", at);
    const length = Number.parseInt(body.slice(at, lineEnd), 16);
    chunks.push(body.slice(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + length + 4;
  }
  return chunks;
}

const hasEnded = (body: string) => body.endsWith("0\r\n\r\n");

describe("an outlet of events", () => {
  test("is opened once the head may be sent", async () => {
    const sink = new SseStream<string>(clientOf(), (text) => text);
    expect(sink.isOpen).toBe(false);
    sink.open();
    await sink.opened;
    expect(sink.isOpen).toBe(true);
  });

  test("sends what was written before the body was asked for, then each turn of the event loop together", async () => {
    const { sink, answer, body } = served();
    sink.write("a");
    sink.write("b");
    answer();
    await until(() => body().includes("ab"));
    for (const text of ["c", "d", "é"]) sink.write(text);
    await until(() => body().includes("cd"));
    sink.write("f");
    sink.end();
    await until(() => hasEnded(body()));
    expect(chunksIn(body())).toEqual(["ab", "cdÃ©", "f", ""]);
  });

  test("sends what was written and ended before the body was asked for", async () => {
    const { sink, answer, body } = served();
    sink.write("all");
    sink.end();
    answer();
    // Bun knows its length, and sends no chunks.
    await until(() => body() === "all");
  });

  test.each([
    [64 * 1024 - 1, false],
    [64 * 1024, true],
  ])("has %p characters wait for the body to be asked for: the writer waits: %p", async (length, waits) => {
    const { sink, answer, body } = served();
    const behind = sink.write("x".repeat(length));
    expect(behind !== undefined).toBe(waits);
    answer();
    await behind;
    await until(() => body() !== "");
    expect(sink.write("y")).toBeUndefined();
    sink.end();
    await until(() => hasEnded(body()));
    expect(chunksIn(body()).join("")).toBe(`${"x".repeat(length)}y`);
  });

  test("has the writer wait while the reader reads nothing, and goes on when it does", async () => {
    const { sink, client, answer, body } = served();
    answer();
    sink.write("first");
    await until(() => body().includes("first"));
    const { behind, written } = await writeUntilBehind(sink, client);
    client.resume();
    await behind;
    expect(sink.write("last")).toBeUndefined();
    sink.end();
    await until(() => hasEnded(body()));
    expect(chunksIn(body()).join("")).toHaveLength("first".length + written + "last".length);
  });

  test("whose reader leaves cuts the call, leaves no writer waiting, and takes no more", async () => {
    const { sink, client, call, answer, body } = served();
    answer();
    sink.write("first");
    await until(() => body().includes("first"));
    const { behind } = await writeUntilBehind(sink, client);
    client.destroy();
    await behind;
    await until(() => call.hasLeft);
    expect(call.hasLeft).toBe(true);
    expect(sink.write("more")).toBeUndefined();
    sink.end();
  });
});

/** More than the buffers of two sockets hold. */
const charactersMax = 64 * 1024 * 1024;

async function writeUntilBehind(sink: SseStream<string>, client: Socket) {
  client.pause();
  const text = "x".repeat(16 * 1024);
  for (let written = text.length; written < charactersMax; written += text.length) {
    const behind = sink.write(text);
    if (behind !== undefined) return { behind, written };
    if (written % (16 * text.length) === 0) await Bun.sleep(0);
  }
  throw new Error(`The outlet took ${charactersMax} characters that nobody read`);
}
