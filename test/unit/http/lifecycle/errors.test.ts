import { describe, expect, test } from "bun:test";
import { type ErrorCode, errorTable, GatewayError } from "../../../../src/contract/index.ts";
import type { CallObserver } from "../../../../src/kernel/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { createPlugin } from "../../kernel/support.ts";
import { goodKey, helloPlugin, httpOf, messages } from "../support.ts";

const chat = { model: "chat-1", messages };

describe("every code", () => {
  const codes = Object.entries(errorTable) as [ErrorCode, { status: number; type: string }][];

  test.each(codes)("%s has its status and type", async (code, { status, type }) => {
    const { post, ledger } = httpOf();
    ledger.refusal = new GatewayError(code, "This is the sentence", { param: "model" });
    const error = await expectError(await post("chat/completions", chat), { status, code, param: "model" });
    expect([error.type, error.message]).toEqual([type, "This is the sentence"]);
  });
});

describe("the observer of calls", () => {
  /** What it is told of a request. */
  async function toldOf(
    path: string,
    body: object,
    { key, refusal }: { key?: GatewayError; refusal?: GatewayError } = {},
  ): Promise<unknown[][]> {
    const told: unknown[][] = [];
    const accounts = key && { authenticate: () => Promise.reject(key) };
    const { kernel, post, ledger } = httpOf([helloPlugin], { ...(accounts && { accounts: accounts as never }) });
    ledger.refusal = refusal;
    const observer: CallObserver = {
      attempted: () => undefined,
      ended: ({ status }) => void told.push(["ended", status]),
      refused: (...refused) => void told.push(["refused", ...refused]),
    };
    Object.assign(kernel, { observer });
    await post(path, body);
    return told;
  }
  const away = new GatewayError("unavailable", "The API key could not be checked; try again");

  test("is told of a call whose key could not be checked, with what was to be called", async () => {
    const unrun = (capability: string) => [["refused", "unavailable", { capability, status: 503 }]];
    expect(await toldOf("chat/completions", chat, { key: away })).toEqual(unrun("chat"));
    expect(await toldOf("messages", chat, { key: away })).toEqual(unrun("chat"));
    expect(await toldOf("embeddings", chat, { key: away })).toEqual(unrun("embeddings"));
    expect(await toldOf("images/edits", chat, { key: away })).toEqual(unrun("imageEdits"));
  });

  test("is told once of a call that ran, and of a request that is no call without one", async () => {
    expect(await toldOf("chat/completions", chat, { refusal: away })).toEqual([
      ["ended", 503],
      ["refused", "unavailable", undefined],
    ]);
    expect(await toldOf("nothing", chat)).toEqual([["refused", "not_found", undefined]]);
  });
});

describe("an error answer", () => {
  test("says when to come back, in whole seconds and at least one", async () => {
    for (const [retryAfterMs, seconds] of [
      [1, "1"],
      [1000, "1"],
      [1001, "2"],
      [0, "1"],
    ] as const) {
      const { post, ledger } = httpOf();
      ledger.refusal = new GatewayError("rate_limit_exceeded", "Slow down", { retryAfterMs });
      expect((await post("chat/completions", chat)).headers.get("retry-after")).toBe(seconds);
    }
  });

  test("shows nothing of an unforeseen failure, and logs it whole", async () => {
    const failure = new TypeError("password is hunter2");
    const { ask, log } = httpOf([helloPlugin], { readinessProblems: () => Promise.reject(failure) });
    const response = await ask("/readyz");
    const error = await expectError(response, { status: 500, code: "internal_error" });
    expect(JSON.stringify(error)).not.toContain("hunter2");
    expect(log.lines).toContainEqual({ level: "error", event: "unexpected", fields: { error: failure } });
  });

  test("of the ledger that fails before the hold shows nothing either", async () => {
    const { post, ledger, log } = httpOf();
    ledger.refusal = new Error("database is locked at /srv/secret.db");
    const error = await expectError(await post("chat/completions", chat), { status: 500, code: "internal_error" });
    expect(error.message).not.toContain("secret");
    expect(log.lines.find(({ event }) => event === "unexpected")).toBeDefined();
    expect(log.lines.find(({ event }) => event === "call")?.fields).toMatchObject({ status: 500 });
  });

  test("carries the limits of a known key, and none for a stranger", async () => {
    const { post } = httpOf();
    const known = await post("chat/completions", {});
    expect(known.headers.get("x-ratelimit-limit-requests")).toBe("60");
    const stranger = await post("chat/completions", {}, { authorization: "Bearer wrong" });
    expect(stranger.headers.get("x-ratelimit-limit-requests")).toBeNull();
    expect(stranger.headers.get("www-authenticate")).toBe("Bearer");
  });

  test("is told even when the limits cannot be", async () => {
    const { post, ledger } = httpOf();
    ledger.readLimitState = () => Promise.reject(new Error("The ledger is closed"));
    await expectError(await post("chat/completions", {}), { status: 400, param: "model" });
  });

  test("says that answers are simulated here", async () => {
    const { ask } = httpOf([helloPlugin], {
      snapshot: () => ({ plugins: [helloPlugin], policies: new Map(), states: [], sandbox: true, warnings: [] }),
    });
    expect((await ask("nothing")).headers.get("x-modelgate-sandbox")).toBe("true");
  });

  test("of a call has the id under which the ledger and the log know it", async () => {
    const plugin = createPlugin({ chat: () => Promise.reject(new GatewayError("invalid_request", "No")) });
    const { post, ledger, log } = httpOf([plugin]);
    const id = (await post("chat/completions", chat)).headers.get("x-request-id") as string;
    expect(ledger.settlement.callId).toBe(id);
    expect(log.lines.find(({ event }) => event === "call")?.fields).toMatchObject({
      call: id,
      status: 400,
      error: "invalid_request",
    });
  });
});

describe("a path", () => {
  const { ask } = httpOf();

  test.each(["nothing", "/", "/v2/models", "/api/v1", "chat", "chat/completions/more", "key/"])(
    "%s that leads nowhere is 404, also for a stranger",
    async (path) => {
      for (const authorization of ["", `Bearer ${goodKey}`]) {
        const response = await ask(path, { headers: { authorization }, method: "PUT" });
        await expectError(response, { status: 404, code: "not_found" });
        expect(response.headers.get("allow")).toBeNull();
      }
    },
  );

  test.each([
    ["chat/completions", "GET", "POST"],
    ["/v1/embeddings", "PUT", "POST"],
    ["images/generations", "DELETE", "POST"],
    ["responses/input_tokens", "PUT", "POST"],
    ["responses/resp_1", "POST", "GET, DELETE"],
    ["models", "POST", "GET"],
    ["models/famA/x", "DELETE", "GET"],
    ["key", "POST", "GET"],
    ["files/abc", "POST", "GET"],
    ["/healthz", "POST", "GET"],
  ])("%s takes no %s but %s", async (path, method, allow) => {
    const response = await ask(path, { method });
    const error = await expectError(response, { status: 405, code: "method_not_allowed" });
    expect(response.headers.get("allow")).toBe(allow);
    expect(error.message).toEndWith(`takes ${allow}, not ${method}`);
  });

  const handshake = { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-version": "13" };
  const upgrade = { connection: "Upgrade", upgrade: "WebSocket", ...handshake };
  test.each([
    ["/v1/responses", upgrade],
    ["/api/v1/responses", upgrade],
    ["/v1/responses?a=b", { connection: "keep-alive, upgrade", upgrade: "h2c, websocket" }],
    // Behind a proxy that hands on no upgrade.
    ["/api/v1/responses", handshake],
  ])("%s is answered 426 when a client begins a WebSocket there", async (path, headers) => {
    const response = await ask(path, { headers });
    await expectError(response, { status: 426, code: "upgrade_required", says: "server-sent events" });
    expect(Object.fromEntries(response.headers)).toMatchObject({ upgrade: "websocket", connection: "close" });
  });

  test.each([
    ["/v1/responses", "GET", {}, 405],
    ["/v1/responses", "GET", { connection: "upgrade", upgrade: "h2c" }, 405],
    ["/v1/responses", "PUT", upgrade, 405],
    ["/v1/chat/completions", "GET", upgrade, 405],
    ["/v1/realtime", "GET", upgrade, 404],
    ["/responses", "GET", upgrade, 404],
    ["/healthz", "GET", upgrade, 200],
  ])("%s, asked by %s with %p, is answered as without an upgrade", async (path, method, headers, status) => {
    const response = await ask(path, { method, headers });
    expect([response.status, response.headers.get("upgrade")]).toEqual([status, null]);
  });

  test.each([
    ["/chat/completions", "POST", "/v1/chat/completions"],
    ["/v1/v1/embeddings", "POST", "/v1/embeddings"],
    ["/api/v1/v1/chat/completions", "POST", "/v1/chat/completions"],
    ["/v1//chat/completions", "POST", "/v1/chat/completions"],
    ["/v1/chat/completions/chat/completions", "POST", "/v1/chat/completions"],
    ["/openai/v1/embeddings", "POST", "/v1/embeddings"],
    ["/responses/resp_1", "DELETE", "/v1/responses/resp_1"],
  ])("of a client with a wrong base URL, %s, is told which was meant", async (path, method, meant) => {
    const error = await expectError(await ask(path, { method }), { status: 404, code: "not_found" });
    expect(error.message).toBe(
      `There is no endpoint ${method} ${path}; did you mean ${meant}? Check the client's base URL`,
    );
  });

  test("that nothing is like is told where the endpoints are listed", async () => {
    const error = await expectError(await ask("/v1/weather", { method: "POST" }), { status: 404 });
    expect(error.message).toBe("There is no endpoint POST /v1/weather; GET /docs lists the endpoints");
  });

  test("a path with a fragment is no endpoint", async () => {
    await expectError(await ask("chat/completions#f", { method: "POST" }), { status: 404, code: "not_found" });
  });
});
