import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../../src/contract/index.ts";
import type { HttpDeps } from "../../../../src/http/deps.ts";
import { resolveModels } from "../../../../src/http/lifecycle/call-routes.ts";
import { executeCall } from "../../../../src/http/lifecycle/execute.ts";
import { HttpCall } from "../../../../src/http/lifecycle/http-call.ts";
import { CallMemory, MemoryAccountant } from "../../../../src/http/memory/call-memory.ts";
import { LoadShedder } from "../../../../src/kernel/index.ts";
import type { ChatChunk, ChatRequest } from "../../../../src/provider/index.ts";
import { completionOf, Sink } from "../../kernel/streams.ts";
import { createPlugin, newCall } from "../../kernel/support.ts";
import { goodKey, helloPlugin, httpOf } from "../support.ts";

/** A request over a server that remembers how long sockets may be idle. */
function contextOf(request = new Request("http://gateway.example/")) {
  const idleSeconds: number[] = [];
  const server = {
    requestIP: () => null,
    timeout: (_: Request, seconds: number) => void idleSeconds.push(seconds),
    upgrade: () => false,
  };
  const call = new HttpCall(newCall().request, request, {
    memory: new CallMemory(new MemoryAccountant(2 ** 28), "acct"),
    slot: new LoadShedder().takeSlot("acct"),
    capability: "chat",
    server,
  });
  return { call, idleSeconds };
}

const request = { model: "chat-1", messages: [{ role: "user" as const, content: "Say hello" }] };

/** Finds the model of a request and runs it. */
async function execute(deps: HttpDeps, call: HttpCall, body: ChatRequest = request, sink?: Sink<ChatChunk>) {
  resolveModels(deps, call, body);
  return await executeCall(deps, call, { capability: "chat", request: body, ...(sink && { sink }) });
}

describe("executeCall", () => {
  test("keeps the socket open while the provider thinks, and only then", async () => {
    const { call, idleSeconds } = contextOf();
    const during: number[][] = [];
    const plugin = createPlugin({
      async chat() {
        during.push([...idleSeconds]);
        return completionOf("Hello");
      },
    });
    await execute(httpOf([plugin]).deps, call);
    expect([during, idleSeconds]).toEqual([[[0]], [0, 255]]);
  });

  test("writes one line for each call, also for one that never became one", async () => {
    const { deps, log } = httpOf();
    await execute(deps, contextOf().call);
    const wrong = { ...request, model: "nobody" };
    await execute(deps, contextOf().call, wrong).catch(() => undefined);
    const lines = log.lines.filter(({ event }) => event === "call").map(({ fields }) => fields);
    expect(lines).toMatchObject([
      {
        status: 200,
        model: "chat-1",
        plugin: "acme",
        state: "settled",
        usage: { inputToken: 100, outputToken: 20 },
        usage_source: "reported",
        attempts: 1,
        cost_nanodollars: 140_000,
        account: "account-1",
      },
      { status: 400, state: "refused", error: "model_not_found", usage: undefined, attempts: 0 },
    ]);
  });

  test("tells the log how often it tried, and what a plugin noted", async () => {
    const failing = createPlugin({
      async chat(call) {
        call.warn("top_k was left out", "top_k");
        throw new GatewayError("invalid_request", "No");
      },
    });
    const { deps, log } = httpOf([failing]);
    await execute(deps, contextOf().call).catch(() => undefined);
    expect(log.lines.at(-1)?.fields).toMatchObject({ attempts: 1, warnings: 1 });
  });

  test("cuts a call whose client is gone already", async () => {
    const { call } = contextOf(new Request("http://gateway.example/", { signal: AbortSignal.abort() }));
    const { deps, ledger } = httpOf([helloPlugin]);
    const sink = new Sink<ChatChunk>();
    const streamed = { ...request, stream: true };
    await execute(deps, call, streamed, sink).catch(() => undefined);
    expect(ledger.settlement).toMatchObject({ outcome: "released", status: 499 });
  });
});

test("the server that listens is told of every call", async () => {
  const { app } = httpOf();
  app.listen(0);
  const server = app.server as NonNullable<typeof app.server>;
  const idleSeconds: number[] = [];
  server.timeout = (_, seconds) => void idleSeconds.push(seconds);
  try {
    const headers = { authorization: `Bearer ${goodKey}` };
    const body = JSON.stringify(request);
    const url = `http://127.0.0.1:${server.port}/v1/chat/completions`;
    expect((await fetch(url, { method: "POST", headers, body })).status).toBe(200);
    expect(idleSeconds).toEqual([0, 255]);
  } finally {
    await app.stop(true);
  }
});

describe("a client's own x-request-id", () => {
  const body = { model: "chat-1", messages: [{ role: "user", content: "Say hello" }] };

  test.each(["0b2c7f3e-1d6a-4c8e-9f00-5a1b2c3d4e5f", "trace/1:2=3+4@host", "x".repeat(128)])(
    "comes back beside ours and stands in the log: %s",
    async (given) => {
      const { post, log } = httpOf();
      const response = await post("chat/completions", body, { "x-request-id": given });
      expect(response.headers.get("x-client-request-id")).toBe(given);
      const id = response.headers.get("x-request-id");
      expect(id).toStartWith("req_");
      const fields = log.lines.find(({ event }) => event === "call")?.fields;
      expect(fields).toMatchObject({ call: id, client_request_id: given });
    },
  );

  test.each(["x".repeat(129), "with space", 'quo"te', "schön", "a,b"])("is left out when it is %s", async (given) => {
    const { post, log } = httpOf();
    const response = await post("chat/completions", body, { "x-request-id": given });
    expect([response.status, response.headers.get("x-client-request-id")]).toEqual([200, null]);
    expect(log.lines.find(({ event }) => event === "call")?.fields?.client_request_id).toBeUndefined();
  });

  test("comes back with an error too, also of a stream", async () => {
    const { post, ask } = httpOf();
    const headers = { "x-request-id": "mine-1" };
    const wrong = await post("chat/completions", { ...body, model: "nobody" }, headers);
    expect([wrong.status, wrong.headers.get("x-client-request-id")]).toEqual([400, "mine-1"]);
    const stranger = await ask("chat/completions", { method: "POST", headers: { ...headers, authorization: "" } });
    expect([stranger.status, stranger.headers.get("x-client-request-id")]).toEqual([401, "mine-1"]);
    const stream = await post("chat/completions", { ...body, stream: true }, headers);
    await stream.text();
    expect(stream.headers.get("x-client-request-id")).toBe("mine-1");
  });
});
