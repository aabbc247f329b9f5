import { afterEach, describe, expect, test } from "bun:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { readPiece } from "../../../src/kernel/wire/read-piece.ts";
import { WireClient } from "../../../src/kernel/wire/wire-client.ts";
import { errorOf } from "../../support/error-of.ts";
import { askText, faultOf, questionTo, textOf, until } from "./asking.ts";
import { type RawServer, startRaw } from "./raw-server.ts";

const toStop: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of toStop.splice(0)) await server.stop();
});

async function start(encoding: string, body: Uint8Array, lengthSaid = body.length): Promise<RawServer> {
  const head = `HTTP/1.1 200 OK\r\ncontent-encoding: ${encoding}\r\ncontent-length: ${lengthSaid}\r\n\r\n`;
  const server = await startRaw((socket) => {
    socket.write(head);
    for (let at = 0; at < body.length; at += 10_000) socket.write(body.subarray(at, at + 10_000));
    if (lengthSaid > body.length) socket.end();
  });
  toStop.push(server);
  return server;
}

const text = "Kites fly well in a steady wind. ".repeat(20_000);

describe("an answer that a provider compressed all the same", () => {
  test.each([
    ["gzip", gzipSync(text)],
    ["GZIP", gzipSync(text)],
    ["x-gzip", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["br", brotliCompressSync(text)],
    ["identity", Buffer.from(text)],
  ])("by %s is unpacked, and its connection kept", async (encoding, body) => {
    const server = await start(encoding, body);
    const client = new WireClient();
    for (let call = 0; call < 2; call++) expect(await askText(client.ask, server.baseUrl)).toBe(text);
    expect(server.accepted).toBe(1);
  });

  test.each(["zstd", "gzip, br", "compress", "constructor"])("by %s is refused", async (encoding) => {
    const server = await start(encoding, Buffer.from("hello"), 10);
    const client = new WireClient();
    expect((await faultOf(client.ask(questionTo(server.baseUrl)))).kind).toBe("broken");
    await until(() => client.counts.open === 0);
  });

  test("and that is not what it says is broken", async () => {
    const server = await start("gzip", Buffer.from("hello, this is no gzip"));
    const fault = await faultOf(askText(new WireClient().ask, server.baseUrl));
    expect(fault.message).toBe("The provider's compressed answer could not be unpacked");
  });

  test("and that breaks off is broken", async () => {
    const whole = gzipSync(crypto.getRandomValues(new Uint8Array(50_000)));
    const server = await start("gzip", whole.subarray(0, 20_000), whole.length);
    const fault = await faultOf(askText(new WireClient().ask, server.baseUrl));
    expect(fault.message).toContain("in the middle of its answer");
  });

  test("is unpacked no further than it is read, be it a bomb of 200 MB", async () => {
    const bomb = gzipSync(Buffer.alloc(200_000_000));
    const server = await start("gzip", bomb);
    const client = new WireClient();
    const answer = await client.ask(questionTo(server.baseUrl));
    let length = 0;
    while (length < 1_000_000) length += (await readPiece(answer))?.byteLength as number;
    answer.cancel();
    expect(length).toBeLessThan(2_000_000);
  });

  test("and that is let go closes its connection", async () => {
    const body = gzipSync(crypto.getRandomValues(new Uint8Array(50_000)));
    const server = await startRaw((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`);
      socket.write(body.subarray(0, 40_000));
    });
    toStop.push(server);
    const client = new WireClient();
    const answer = await client.ask(questionTo(server.baseUrl));
    await readPiece(answer);
    answer.cancel();
    await until(() => client.counts.open === 0);
    expect(await errorOf(textOf(answer))).toBeDefined();
  });
});
