import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type InProcessGateway, startInProcess } from "../../../support/in-process.ts";

const folder = join(import.meta.dir, "../../../../plugins/manifests");
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

/** What each of them says that OpenAI does not, and what it is not to be asked. */
interface Shape {
  answer?: Record<string, unknown>;
  message?: Record<string, unknown>;
  usage?: Record<string, unknown>;
  finishReason?: string;
  unasked?: string[];
  asked?: Record<string, unknown>;
}
const shapes: Record<string, Shape> = {
  ollama: { message: { reasoning: "Hm" }, asked: { max_tokens: 9 }, unasked: ["max_completion_tokens", "n"] },
  vllm: { answer: { prompt_logprobs: null, kv_transfer_params: null }, asked: { n: 2 } },
  "llama-cpp": { answer: { timings: { predicted_ms: 1 } }, unasked: ["n"] },
  "lm-studio": { answer: { stats: {} }, asked: { max_tokens: 9 }, unasked: ["n"] },
  sglang: { answer: { metadata: { weight_version: "1" } }, message: { reasoning_content: "Hm" }, asked: { n: 2 } },
};
const foreign = /timings|stats|prompt_logprobs|kv_transfer|matched_stop/;

interface Seen {
  path: string;
  key: string | null;
  body: Record<string, unknown>;
}

/** A server that answers below `/<name>` as the server or host of that name does. */
function startHosts(seen: Seen[]) {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const [, name = "", ...path] = new URL(request.url).pathname.split("/");
      if (path.includes("models")) {
        return Response.json({ object: "list", data: [{ id: "qwen3:8b" }, { id: "nomic-embed-text" }] });
      }
      const body = (await request.json()) as Record<string, unknown>;
      seen.push({ path: path.join("/"), key: request.headers.get("authorization"), body });
      const shape = shapes[name] ?? {};
      if (path.includes("embeddings")) {
        return Response.json({
          data: [{ index: 0, embedding: [0.5, 0.25] }],
          usage: { prompt_tokens: 2, total_tokens: 2 },
        });
      }
      const head = { id: "x", created: 1_780_000_000, model: body.model, ...shape.answer };
      const finish_reason = shape.finishReason ?? "stop";
      const message = { role: "assistant", content: `Hello from ${name}`, ...shape.message };
      const counted = { ...usage, ...shape.usage };
      if (body.stream !== true) {
        return Response.json({
          ...head,
          object: "chat.completion",
          choices: [{ index: 0, message, finish_reason }],
          usage: counted,
        });
      }
      const chunks = [
        { choices: [{ index: 0, delta: message, finish_reason: null }] },
        { choices: [{ index: 0, delta: {}, finish_reason }] },
        { choices: [], usage: counted },
      ].map((chunk) => `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...chunk })}\n\n`);
      return new Response(`: a comment\n\n${chunks.join("")}data: [DONE]\n\n`, {
        headers: { "content-type": "text/event-stream" },
      });
    },
  });
}

describe("a ready manifest", () => {
  const names = readdirSync(folder).flatMap((file) => (file.endsWith(".json") ? [file.slice(0, -5)] : []));
  const seen: Seen[] = [];
  let hosts: ReturnType<typeof startHosts>;
  let gateway: InProcessGateway;
  beforeAll(async () => {
    hosts = startHosts(seen);
    const env: Record<string, string> = {};
    for (const name of names) {
      const prefix = name.toUpperCase().replaceAll("-", "_");
      env[`${prefix}_BASE_URL`] = `http://127.0.0.1:${hosts.port}/${name}/v1`;
    }
    gateway = await startInProcess({ env });
  });
  afterAll(async () => {
    await gateway.stop();
    await hosts.stop(true);
  });

  const manifestOf = (name: string) => readFileSync(join(folder, `${name}.json`), "utf8");
  const asking = {
    messages: [
      { role: "developer", content: "Be brief" },
      { role: "user", content: "Say hello" },
    ],
    max_completion_tokens: 9,
    seed: 5,
    n: 2,
    user: "me",
    stop: ["END"],
    presence_penalty: 0.5,
  };

  test("is there for each that is told of", () => expect(names.sort()).toEqual(Object.keys(shapes).sort()));

  test.each(names)("%s has at most 15 lines", (name) => {
    expect(manifestOf(name).trimEnd().split("\n").length).toBeLessThanOrEqual(15);
  });

  test.each(names)("%s serves a chat, whole and streamed", async (name) => {
    const shape = shapes[name] as Shape;
    for (const stream of [false, true]) {
      seen.length = 0;
      const options = stream ? { stream, stream_options: { include_usage: true } } : {};
      const response = await gateway.post("/chat/completions", { model: `${name}/qwen3:8b`, ...asking, ...options });
      const text = await response.text();
      expect({ status: response.status, route: response.headers.get("x-modelgate-route"), text }).toMatchObject({
        status: 200,
        route: name,
      });
      expect(text).toContain(`Hello from ${name}`);
      expect(text).not.toMatch(foreign);
      if (shape.message !== undefined) expect(text).toContain('"reasoning_content":"Hm"');
      expect(text).toContain(`"finish_reason":"${shape.finishReason === undefined ? "stop" : "length"}"`);
      expect(text).toContain('"total_tokens"');
      for (const { path, key, body } of seen) {
        expect(path).toBe("v1/chat/completions");
        expect(key).toBeNull();
        expect(body).toMatchObject({ model: "qwen3:8b", ...shape.asked });
        for (const field of shape.unasked ?? []) expect(Object.keys(body)).not.toContain(field);
      }
    }
  });

  test.each(names)("%s serves vectors by a model that its server has, without a row", async (name) => {
    const response = await gateway.post("/embeddings", { model: `${name}/nomic-embed-text`, input: "Hello" });
    expect(await response.json()).toMatchObject({ data: [{ embedding: [0.5, 0.25] }], usage: { prompt_tokens: 2 } });
  });
});

test("a ready manifest is no plugin where nothing says where its server is, and a file of its name is the plugin", async () => {
  const hosts = startHosts([]);
  const baseUrl = `http://127.0.0.1:${hosts.port}/ollama/v1`;
  const listed = async (options: Parameters<typeof startInProcess>[0]) => {
    const gateway = await startInProcess(options);
    const headers = { authorization: `Bearer ${gateway.key}` };
    const response = await fetch(`${gateway.baseUrl}/models`, { headers });
    const { data } = (await response.json()) as { data: { id: string }[] };
    await gateway.stop();
    return data.map(({ id }) => id).filter((id) => id.includes("llama"));
  };
  const manifest = { baseUrl, dialect: "openai", credential: "none", models: [{ id: "my-llama", premium: false }] };
  const folder = mkdtempSync(join(tmpdir(), "ready-"));
  expect(await listed({ env: { SANDBOX: "off", GROQ_API_KEY: "k" } })).not.toContain("ollama/qwen3:8b");
  expect(await listed({ env: { OLLAMA_BASE_URL: baseUrl } })).toContain("ollama/qwen3:8b");
  writeFileSync(join(folder, "ollama.json"), JSON.stringify(manifest));
  expect(await listed({ env: { OLLAMA_BASE_URL: baseUrl, PLUGINS_DIR: folder } })).toEqual(["my-llama"]);
  await hosts.stop(true);
  rmSync(folder, { recursive: true });
});
