import { afterEach, describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import type { Ask } from "../../../src/kernel/wire/ask.ts";
import { readPiece } from "../../../src/kernel/wire/read-piece.ts";
import { WireClient, type WireOptions } from "../../../src/kernel/wire/wire-client.ts";
import { errorOf } from "../../support/error-of.ts";
import { askText, dials, faultOf, questionTo, textOf, until } from "./asking.ts";
import { answerOf, chunkedOf, type RawServer, startRaw } from "./raw-server.ts";

const toStop: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of toStop.splice(0)) await server.stop();
});

async function start(...answers: Parameters<typeof startRaw>): Promise<RawServer> {
  const server = await startRaw(...answers);
  toStop.push(server);
  return server;
}

describe.each(dials)("by %s", (_, dial) => {
  /** A client over a clock that stands still until it is moved. */
  function clientOf(options: WireOptions = {}) {
    const clock = { nowMs: 1_790_000_000_000 };
    const client = new WireClient({ dial, now: () => clock.nowMs, ...options });
    const ask: Ask = client.ask;
    return { client, ask, clock };
  }

  describe("a connection", () => {
    test.each([
      ["of a said length", answerOf("hello")],
      ["in chunks", chunkedOf(["hel", "lo"])],
      ["without a body", "HTTP/1.1 204 No Content\r\n\r\n"],
    ])("is used again after an answer %s", async (_, answer) => {
      const server = await start(answer);
      const { ask, client } = clientOf();
      for (let call = 0; call < 5; call++) await askText(ask, server.baseUrl);
      expect([server.accepted, server.requests.length]).toEqual([1, 5]);
      expect(client.counts).toEqual({ open: 1, idle: 1 });
    });

    test.each([
      ["that says so", answerOf("hello", ["connection: close"])],
      ["with more bytes than belong to it", `${answerOf("hello")}HTTP/1.1 200 OK\r\n`],
      ["of HTTP/1.0", answerOf("hello").replace("1.1", "1.0")],
      ["whose server waits for no second", answerOf("hello", ["keep-alive: timeout=1"])],
    ])("is closed after an answer %s", async (_, answer) => {
      const server = await start(answer);
      const { ask, client } = clientOf();
      expect([await askText(ask, server.baseUrl), await askText(ask, server.baseUrl)]).toEqual(["hello", "hello"]);
      expect(server.accepted).toBe(2);
      expect(client.counts.open).toBe(0);
      await until(() => server.open.size === 0);
    });

    test("is closed when something arrives that nobody asked for", async () => {
      const server = await start(answerOf("hello"));
      const { ask, client } = clientOf();
      await askText(ask, server.baseUrl);
      for (const socket of server.open) socket.write(answerOf("smuggled"));
      await until(() => client.counts.open === 0);
      expect(await askText(ask, server.baseUrl)).toBe("hello");
    });

    test("is closed after its idle time, or the shorter one that the server says", async () => {
      const server = await start(answerOf("hello"), answerOf("hello", ["keep-alive: timeout=5"]));
      const { ask, clock } = clientOf({ bounds: { idleMsMax: 10_000 } });
      await askText(ask, server.baseUrl);
      clock.nowMs += 9_999;
      await askText(ask, server.baseUrl);
      expect(server.accepted).toBe(1);
      clock.nowMs += 4_000;
      await askText(ask, server.baseUrl);
      expect(server.accepted).toBe(2);
    });

    test("that became idle last is taken first, and beyond the bound it is closed", async () => {
      const held: (() => void)[] = [];
      const server = await start((socket) => held.push(() => socket.write(answerOf("hello"))));
      const { ask, client } = clientOf({ bounds: { idleSocketsMax: 2 } });
      const calls = [0, 1, 2].map(() => askText(ask, server.baseUrl));
      await until(() => held.length === 3);
      for (const answer of held.splice(0)) answer();
      await Promise.all(calls);
      expect(client.counts).toEqual({ open: 2, idle: 2 });
      for (let call = 0; call < 3; call++) {
        const asked = askText(ask, server.baseUrl);
        await until(() => held.length === 1);
        held.pop()?.();
        await asked;
      }
      const [, , , ...later] = server.requests.map(({ connection }) => connection);
      expect(new Set(later).size).toBe(1);
    });

    test("beyond the bound is refused", async () => {
      const server = await start(() => undefined);
      const { ask } = clientOf({ bounds: { socketsMax: 2 } });
      const cut = new AbortController();
      const waiting = [0, 1].map(() => ask(questionTo(server.baseUrl, { signal: cut.signal })).catch(() => undefined));
      const fault = await faultOf(ask(questionTo(server.baseUrl)));
      expect([fault.kind, fault.message]).toEqual([
        "overloaded",
        "The gateway has 2 connections to the provider in use already",
      ]);
      cut.abort();
      await Promise.all(waiting);
    });

    test("is there for each of 600 calls at once", async () => {
      const held: (() => void)[] = [];
      const server = await start((socket) => held.push(() => socket.write(answerOf("hello"))));
      const { ask, client } = clientOf();
      const calls = Array.from({ length: 600 }, () => askText(ask, server.baseUrl));
      await until(() => held.length === 600);
      expect(client.counts).toEqual({ open: 600, idle: 0 });
      for (const answer of held) answer();
      expect(new Set(await Promise.all(calls))).toEqual(new Set(["hello"]));
      expect(client.counts).toEqual({ open: 600, idle: 600 });
      client.close();
      expect(client.counts).toEqual({ open: 0, idle: 0 });
      await until(() => server.open.size === 0);
    });
  });

  describe("a connection that the server closed while it was idle", () => {
    test("costs the next call nothing but a new one", async () => {
      const server = await start(answerOf("one"), (socket) => socket.destroy(), answerOf("two"));
      const { ask } = clientOf();
      expect(await askText(ask, server.baseUrl)).toBe("one");
      expect(await askText(ask, server.baseUrl)).toBe("two");
      expect(server.requests.map(({ connection }) => connection)).toEqual([0, 0, 1]);
    });

    test("is noticed at once when nothing is asked", async () => {
      const server = await start((socket) => socket.end(answerOf("one")), answerOf("two"));
      const { ask, client } = clientOf();
      expect(await askText(ask, server.baseUrl)).toBe("one");
      await until(() => client.counts.open === 0);
      expect(await askText(ask, server.baseUrl)).toBe("two");
    });

    test("is tried again once only, and on a new connection", async () => {
      const server = await start(answerOf("one"), (socket) => socket.destroy());
      const { ask } = clientOf();
      await askText(ask, server.baseUrl);
      expect((await faultOf(ask(questionTo(server.baseUrl)))).message).toContain("connection to the provider");
      expect(server.requests).toHaveLength(3);
    });

    test("is not tried again after a byte of an answer", async () => {
      const server = await start(answerOf("one"), (socket) => socket.end("H"), answerOf("two"));
      const { ask } = clientOf();
      await askText(ask, server.baseUrl);
      expect((await faultOf(ask(questionTo(server.baseUrl)))).message).toBe(
        "The connection to the provider was closed before it answered",
      );
      expect(server.requests).toHaveLength(2);
    });

    test("is not tried again when the server may have worked on the request", async () => {
      const { ask, clock } = clientOf();
      const late = (socket: { destroy(): void }) => {
        clock.nowMs += 2_001;
        socket.destroy();
      };
      const server = await start(answerOf("one"), late, answerOf("two"));
      await askText(ask, server.baseUrl);
      await faultOf(ask(questionTo(server.baseUrl)));
      expect(server.requests).toHaveLength(2);
    });

    test("is not tried again when it was new", async () => {
      const server = await start((socket) => socket.destroy(), answerOf("two"));
      await faultOf(clientOf().ask(questionTo(server.baseUrl)));
      expect(server.requests).toHaveLength(1);
    });
  });

  describe("a call that is cut", () => {
    test("before it begins reaches nobody", async () => {
      const server = await start(answerOf("hello"));
      const { ask, client } = clientOf();
      expect(await errorOf<string>(ask(questionTo(server.baseUrl, { signal: AbortSignal.abort("left") })))).toBe(
        "left",
      );
      expect(client.counts.open).toBe(0);
    });

    test("before the answer closes its connection", async () => {
      const server = await start(() => undefined);
      const { ask, client } = clientOf();
      const cut = new AbortController();
      const asked = ask(questionTo(server.baseUrl, { signal: cut.signal }));
      await until(() => server.requests.length === 1);
      cut.abort("left");
      expect(await errorOf<string>(asked)).toBe("left");
      expect(client.counts.open).toBe(0);
      await until(() => server.open.size === 0);
    });

    test.each([
      ["aborted", "left"],
      ["cancelled", undefined],
    ])("in the middle of the answer, %s, closes its connection", async (_, reason) => {
      const server = await start("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello");
      const { ask, client } = clientOf();
      const cut = new AbortController();
      const answer = await ask(questionTo(server.baseUrl, { signal: cut.signal }));
      expect(new TextDecoder().decode(await readPiece(answer))).toBe("hello");
      const next = readPiece(answer);
      if (reason === undefined) answer.cancel();
      else cut.abort(reason);
      expect(await errorOf(next)).toBeDefined();
      expect(await errorOf(readPiece(answer))).toBeDefined();
      expect(client.counts.open).toBe(0);
      await until(() => server.open.size === 0);
    });

    test("after the answer harms nothing", async () => {
      const server = await start(answerOf("hello"));
      const { ask, client } = clientOf();
      const cut = new AbortController();
      const answer = await ask(questionTo(server.baseUrl, { signal: cut.signal }));
      await until(() => client.counts.idle === 1);
      cut.abort();
      answer.cancel();
      expect(await textOf(answer)).toBe("");
      expect(client.counts).toEqual({ open: 1, idle: 1 });
    });
  });

  describe("a provider that is not there", () => {
    test("refuses the connection", async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as { port: number };
      await new Promise((resolve) => server.close(resolve));
      const { ask, client } = clientOf();
      const fault = await faultOf(ask(questionTo(`http://127.0.0.1:${port}`)));
      expect([fault.kind, fault.message]).toEqual(["broken", "The connection to the provider failed: it was refused"]);
      expect(client.counts.open).toBe(0);
    });

    test("has no name", async () => {
      const fault = await faultOf(clientOf().ask(questionTo("http://nowhere.invalid")));
      expect(fault.kind).toBe("broken");
      expect(fault.message).toMatch(/its host name (is not known|could not be looked up)$/);
    });

    test("resets the connection", async () => {
      const server = await start((socket) => socket.resetAndDestroy());
      const fault = await faultOf(clientOf().ask(questionTo(server.baseUrl)));
      expect(fault.kind).toBe("broken");
      expect(fault.message).toMatch(/was reset|was closed before it answered/);
    });
  });
});
