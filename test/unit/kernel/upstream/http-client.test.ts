import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { ConnectionError, createHeaders, type HttpClient } from "../../../../src/kernel/upstream/http-client.ts";
import { errorOf } from "../../../support/error-of.ts";
import { answerOf, chunkedOf, type RawServer, startRaw } from "../../../support/raw-server.ts";
import { until } from "../../../support/until.ts";
import { openClient, requestText, requestTo } from "./requests.ts";

const toStop: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of toStop.splice(0)) await server.stop();
});

async function start(...answers: Parameters<typeof startRaw>): Promise<RawServer> {
  const server = await startRaw(...answers);
  toStop.push(server);
  return server;
}

// One for each test: a port is given out again, and a client remembers which base URLs have answered.
let client: HttpClient;
beforeEach(() => {
  client = openClient().client;
});

async function failureOf(promise: Promise<unknown>): Promise<ConnectionError> {
  const error = await errorOf(promise);
  if (error instanceof ConnectionError) return error;
  throw new Error("Expected a ConnectionError", { cause: error });
}

describe("a request", () => {
  test("has the headers that were given and the defaults, and no others but those of HTTP", async () => {
    const server = await start(answerOf("hello"));
    const headers = createHeaders({ Authorization: "Bearer a", "x-version": "1" }, undefined, { "X-Version": "2" });
    const body = '{"say":"héé€😀"}';
    await requestText(client, server.baseUrl, { path: "/chat?a=b", headers, body });
    const [first, ...lines] = server.requests[0]?.head.split("\r\n") ?? [];
    expect(first).toBe("POST /v1/chat?a=b HTTP/1.1");
    const split = lines.map((line) => line.split(": ") as [string, string]);
    expect(Object.fromEntries(split.map(([name, value]) => [name.toLowerCase(), value]))).toEqual({
      accept: "*/*",
      "accept-encoding": "identity",
      authorization: "Bearer a",
      connection: "keep-alive",
      "content-length": String(Buffer.byteLength(body)),
      host: new URL(server.baseUrl).host,
      "user-agent": "modelgate",
      "x-version": "2",
    });
    expect(Buffer.from(server.requests[0]?.body ?? "", "latin1").toString()).toBe(body);
  });

  test.each([
    ["ASCII", "x"],
    ["other letters", "é€😀"],
  ])("of 3 MB of %s arrives whole", async (_, letters) => {
    const server = await start(answerOf("hello"));
    const body = JSON.stringify(letters.repeat(3_000_000 / Buffer.byteLength(letters)));
    await requestText(client, server.baseUrl, { body });
    expect(Buffer.from(server.requests[0]?.body ?? "", "latin1").toString()).toBe(body);
  });

  test("of a form arrives as a form", async () => {
    const server = Bun.serve({
      port: 0,
      async fetch(request) {
        const form = await request.formData();
        const file = form.get("file") as File;
        return Response.json([form.get("model"), file.name, await file.text()]);
      },
    });
    const form = new FormData();
    form.append("model", "whisper é");
    form.append("file", new File(["\0\r\nbytes"], "a b.wav", { type: "audio/wav" }));
    const answer = await requestText(client, `http://127.0.0.1:${server.port}`, { body: form });
    expect(JSON.parse(answer)).toEqual(["whisper é", "a b.wav", "\0\r\nbytes"]);
    await server.stop(true);
  });

  test.each([
    ["/a b", "/v1/a%20b"],
    ["/a\r\nx-evil: 1", "/v1/ax-evil:%201"],
    ["/é", "/v1/%C3%A9"],
    ["/a#b", "/v1/a"],
    ["/a/../b", "/v1/b"],
    ["//evil.example/a", "/v1//evil.example/a"],
    ["/models/a:generate?alt=sse", "/v1/models/a:generate?alt=sse"],
  ])("to the path %j is sent to %s", async (path, sent) => {
    const server = await start(answerOf("hello"));
    await requestText(client, server.baseUrl, { path });
    expect(server.requests[0]?.head.split("\r\n")[0]).toBe(`POST ${sent} HTTP/1.1`);
    expect(server.requests[0]?.head).not.toContain("\r\nx-evil");
  });

  test("follows no redirect", async () => {
    const server = await start(answerOf("", ["location: /elsewhere"], "307 Temporary Redirect"), answerOf("followed"));
    expect((await client.request(requestTo(server.baseUrl))).status).toBe(307);
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    ["of a declared length", answerOf("hello")],
    ["in chunks", chunkedOf(["hel", "lo"])],
  ])("after a response %s takes the same connection", async (_, answer) => {
    const server = await start(answer);
    for (let call = 0; call < 5; call++) expect(await requestText(client, server.baseUrl)).toBe("hello");
    expect([server.accepted, server.requests.length]).toEqual([1, 5]);
  });

  test("that is answered before it has left whole has its response", async () => {
    const early = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open(socket) {
          socket.write(answerOf("too large", [], "413 Payload Too Large"));
        },
        data: (socket) => socket.pause(),
      },
    });
    const body = JSON.stringify("x".repeat(20_000_000));
    const response = await client.request(requestTo(`http://127.0.0.1:${early.port}`, { body }));
    expect([response.status, await response.text()]).toEqual([413, "too large"]);
    early.stop(true);
  });
});

describe("a connection that the provider closed while it was idle", () => {
  test("costs the next request a second one, on a new connection", async () => {
    const server = await start(answerOf("one"), (socket) => socket.destroy(), answerOf("two"));
    const { client } = openClient();
    expect(await requestText(client, server.baseUrl)).toBe("one");
    expect(await requestText(client, server.baseUrl)).toBe("two");
    expect(server.requests.map(({ connection }) => connection)).toEqual([0, 0, 1]);
  });

  test("is not in the way of a form either", async () => {
    const server = await start(answerOf("one"), (socket) => socket.resetAndDestroy(), answerOf("two"));
    const { client } = openClient();
    const form = new FormData();
    form.append("a", "b");
    for (const expected of ["one", "two"]) {
      expect(await requestText(client, server.baseUrl, { body: form })).toBe(expected);
    }
  });

  test("is noticed by itself when nothing is sent", async () => {
    const server = await start((socket) => socket.end(answerOf("one")), answerOf("two"));
    const { client } = openClient();
    expect(await requestText(client, server.baseUrl)).toBe("one");
    await until(() => server.open.size === 0);
    expect(await requestText(client, server.baseUrl)).toBe("two");
    expect(server.requests).toHaveLength(2);
  });

  test("is tried again once only", async () => {
    const server = await start(answerOf("one"), (socket) => socket.destroy());
    const { client } = openClient();
    await requestText(client, server.baseUrl);
    const error = await failureOf(client.request(requestTo(server.baseUrl)));
    expect(error.message).toBe("The connection to the provider was closed before it answered");
    expect(server.requests).toHaveLength(3);
  });

  test.each([
    [300, 351],
    [0, 51],
    [5000, 1051],
  ])(
    "is not tried again where the provider may be at work: it answered in %d ms before, and now broke off after %d",
    async (firstMs, brokenMs) => {
      const { client, clock } = openClient();
      const first = (socket: { end(text: string): void; write(text: string): void }) => {
        clock.nowMs += firstMs;
        socket.write(answerOf("one"));
      };
      const late = (socket: { destroy(): void }) => {
        clock.nowMs += brokenMs;
        socket.destroy();
      };
      const server = await start(first, late, answerOf("two"));
      await requestText(client, server.baseUrl);
      expect((await failureOf(client.request(requestTo(server.baseUrl)))).wasSent).toBe(true);
      expect(server.requests).toHaveLength(2);
    },
  );

  test("is not tried again when it was new: this provider has answered nothing so far", async () => {
    const server = await start((socket) => socket.destroy(), answerOf("two"));
    expect((await failureOf(openClient().client.request(requestTo(server.baseUrl)))).wasSent).toBe(true);
    expect(server.requests).toHaveLength(1);
  });

  test("is not tried again when a response had begun", async () => {
    const broken = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello";
    const server = await start(answerOf("one"), (socket) => socket.end(broken), answerOf("two"));
    const { client } = openClient();
    await requestText(client, server.baseUrl);
    expect(await errorOf(requestText(client, server.baseUrl))).toBeInstanceOf(TypeError);
    expect(server.requests).toHaveLength(2);
  });
});

describe("a request that is aborted", () => {
  test("before it begins reaches nobody", async () => {
    const server = await start(answerOf("hello"));
    const signal = AbortSignal.abort("left");
    expect(await errorOf<string>(client.request(requestTo(server.baseUrl, { signal })))).toBe("left");
    expect(server.requests).toEqual([]);
  });

  test("before the response closes its connection, and is not sent again", async () => {
    const server = await start(answerOf("one"), () => undefined);
    await requestText(client, server.baseUrl);
    const cut = new AbortController();
    const asked = client.request(requestTo(server.baseUrl, { signal: cut.signal }));
    await until(() => server.requests.length === 2);
    cut.abort("left");
    expect(await errorOf<string>(asked)).toBe("left");
    await until(() => server.open.size === 0);
    expect(server.requests).toHaveLength(2);
  });

  test.each(["read by chunks", "awaited whole", "not read"])(
    "in the middle of a response that is %s closes its connection",
    async (how) => {
      const server = await start("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello");
      const cut = new AbortController();
      const response = await client.request(requestTo(server.baseUrl, { signal: cut.signal }));
      const reader = how === "read by chunks" ? response.body?.getReader() : undefined;
      if (reader !== undefined) expect(new TextDecoder().decode((await reader.read()).value)).toBe("hello");
      const next = how === "not read" ? undefined : errorOf(reader?.read() ?? response.text());
      cut.abort("left");
      if (next !== undefined) expect(await next).toBe("left" as unknown as Error);
      await until(() => server.open.size === 0);
    },
  );

  test("after the response harms nothing", async () => {
    const server = await start(answerOf("hello"));
    const cut = new AbortController();
    expect(await requestText(client, server.baseUrl, { signal: cut.signal })).toBe("hello");
    cut.abort();
    expect(await requestText(client, server.baseUrl)).toBe("hello");
    expect(server.accepted).toBe(1);
  });
});

describe("a response", () => {
  test.each([
    ["garbage", "garbage\r\n\r\n"],
    ["one byte", "H"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 5\r\n\r\nhello"],
    ["a length below zero", "HTTP/1.1 200 OK\r\ncontent-length: -3\r\n\r\nhello"],
    ["another protocol", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nhello"],
  ])("that is not HTTP, or HTTP in two ways, is an error: %s", async (_, text) => {
    const server = await start((socket) => socket.end(text));
    expect((await failureOf(client.request(requestTo(server.baseUrl)))).wasSent).toBe(true);
    expect(server.requests).toHaveLength(1);
  });

  test("with more bytes than belong to it ends its connection: they are not the next response", async () => {
    const server = await start(`${answerOf("hello")}${answerOf("smuggled")}`);
    for (let call = 0; call < 3; call++) expect(await requestText(client, server.baseUrl)).toBe("hello");
    expect(server.requests.map(({ connection }) => connection)).toEqual([0, 1, 2]);
  });
});

describe("a provider that cannot be reached", () => {
  test("refuses the connection", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    const { kind, message, wasSent } = await failureOf(client.request(requestTo(`http://127.0.0.1:${port}`)));
    expect([kind, message, wasSent]).toEqual([
      "bad_response",
      "Cannot connect to the provider: connection refused",
      false,
    ]);
  });

  test("has a host name that nobody knows", async () => {
    const { kind, message, wasSent } = await failureOf(client.request(requestTo("http://nowhere.invalid")));
    expect([kind, wasSent]).toEqual(["bad_response", false]);
    expect(message).toMatch(/its host name (cannot be resolved|could not be looked up)$/);
  });

  test("resets the connection", async () => {
    const server = await start((socket) => socket.resetAndDestroy());
    const { kind, message, wasSent } = await failureOf(client.request(requestTo(server.baseUrl)));
    expect([kind, message, wasSent]).toEqual([
      "bad_response",
      "The connection to the provider was closed before it answered",
      true,
    ]);
  });
});
