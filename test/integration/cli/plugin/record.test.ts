import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createPluginFiles } from "../../../../src/cli/plugin-new/plugin-files.ts";
import { type Bench, makeBench } from "../fixture.ts";

const key = "acme-secret-0123456789";
let bench: Bench;
let folder: string;
let host: ReturnType<typeof startHost>;

/** A provider of the sample's protocol that shows the key it was asked with. */
function startHost() {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { stream } = (await request.json()) as { stream: boolean };
      const text = "Well, hello there";
      const usage = { billed_units: { input_tokens: 8, output_tokens: 4 } };
      const echo = request.headers.get("authorization");
      const end = { finish_reason: "COMPLETE", usage, echo };
      if (!stream) return Response.json({ message: { role: "assistant", content: [{ type: "text", text }] }, ...end });
      const events = [
        { type: "content-delta", index: 0, delta: { message: { content: { text } } } },
        { type: "message-end", delta: end },
      ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}`);
      return new Response(`${events.join("\n\n")}\n\n`, { headers: { "content-type": "text/event-stream" } });
    },
  });
}

beforeAll(async () => {
  host = startHost();
  bench = makeBench({ env: { ACME_API_KEY: key, ACME_BASE_URL: `http://127.0.0.1:${host.port}/v1` } });
  folder = join(bench.home, "acme");
  for (const [file, text] of await createPluginFiles("acme", "translated")) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
});
afterAll(async () => {
  bench.remove();
  await host.stop(true);
});

test("plugin record makes fixtures of a true call that hold no key and pass the check", async () => {
  const { code, stderr } = await bench.run("plugin", "record", folder, "--prompt", "Say hello there");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const recorded = readdirSync(join(folder, "fixtures")).filter((name) => name.startsWith("recorded-"));
  expect(recorded.sort()).toEqual(["recorded-answer.json", "recorded-stream.json"]);
  for (const file of recorded) {
    const text = readFileSync(join(folder, "fixtures", file), "utf8");
    expect(text).not.toContain(key);
    const fixture = JSON.parse(text);
    expect(fixture).toMatchObject({ model: "acme-small", path: "/chat" });
    expect(fixture.expect).toEqual({
      content: "Well, hello there",
      finishReason: "stop",
      promptTokens: 8,
      completionTokens: 4,
    });
    expect(fixture.body.messages).toEqual([{ role: "user", content: "Say hello there" }]);
  }
  const checked = await bench.json<{ passed: number; of: number; marks: { check: string }[] }>(
    "plugin",
    "check",
    folder,
  );
  expect(checked.passed).toBe(checked.of);
  expect(checked.marks.filter(({ check }) => check.includes("a true answer"))).toHaveLength(2);
});

test("plugin record uses the stored key, and takes it out of the fixtures", async () => {
  const stored = "stored-secret-0123456789";
  const elsewhere = makeBench({
    env: { ACME_BASE_URL: `http://127.0.0.1:${host.port}/v1` },
    stdin: async () => stored,
  });
  expect(await elsewhere.run("plugin", "record", folder)).toMatchObject({ code: 2 });
  await elsewhere.json("provider", "key", "set", "acme");
  expect(await elsewhere.run("plugin", "record", folder)).toMatchObject({ code: 0 });
  const text = readFileSync(join(folder, "fixtures/recorded-answer.json"), "utf8");
  expect(text).toContain("hidden");
  expect(text).not.toContain(stored);
  elsewhere.remove();
});

test("plugin record tells what the provider said when it refuses", async () => {
  const elsewhere = makeBench({ env: { ACME_API_KEY: key, ACME_BASE_URL: "http://127.0.0.1:1/v1" } });
  const { code, stderr } = await elsewhere.run("plugin", "record", folder);
  expect({ code, stderr }).toEqual({
    code: 5,
    stderr: "Cannot record: 127.0.0.1:1: Cannot connect to the provider: connection refused\n",
  });
  elsewhere.remove();
});

test("plugin new --ready writes a manifest that many use, and names them when it has none", async () => {
  const ready = makeBench({ manifests: { ollama: { name: "ollama" } } });
  const { code, stderr } = await ready.run("plugin", "new", "olama", "--ready");
  expect({ code, told: stderr.includes("expected one of: ollama") }).toEqual({ code: 2, told: true });
  ready.remove();
});
