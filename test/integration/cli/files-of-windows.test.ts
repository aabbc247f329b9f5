import { afterEach, beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Bench, makeBench } from "./fixture.ts";

let bench: Bench;
beforeEach(() => {
  bench = makeBench();
});
afterEach(() => bench.remove());

const encodings: readonly (readonly [string, (text: string) => Uint8Array])[] = [
  ["a byte order mark", (text) => Buffer.from(`\ufeff${text}`)],
  ["UTF-16, as PowerShell writes it", (text) => Buffer.from(`\ufeff${text}`, "utf16le")],
  ["line ends of Windows", (text) => Buffer.from(text.replaceAll("\n", "\r\n"))],
];

function write(name: string, bytes: Uint8Array): string {
  const file = join(bench.home, name);
  writeFileSync(file, bytes);
  return file;
}

test.each(encodings)("apply reads a document with %s", async (_, encode) => {
  const document = { budgets: [{ subject: "tag", budget_usd: "1", budget_period: "day" }] };
  const received: unknown[] = [];
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      received.push(await request.json());
      return Response.json({ changes: [], warnings: [], keys: [] });
    },
  });
  const file = write("gateway.json", encode(JSON.stringify(document, null, 2)));
  const target = ["--url", `http://127.0.0.1:${server.port}`, "--admin-key", "sk-mg-admin-one-0123456789abcdef0123"];
  expect(await bench.run("apply", file, ...target)).toMatchObject({ code: 0, stderr: "" });
  expect(received).toEqual([document]);
});

test.each(encodings)("provider add reads a manifest with %s", async (_, encode) => {
  const models = [{ id: "added/one", upstreamId: "one", premium: false }];
  const manifest = { baseUrl: "http://127.0.0.1:9/v1", dialect: "openai", credential: "none", models };
  const file = write("added.json", encode(JSON.stringify(manifest, null, 2)));
  expect(await bench.run("provider", "add", file)).toMatchObject({ code: 0, stderr: "" });
});

test.each(encodings)("plugin check reads a manifest with %s", async (_, encode) => {
  const models = [{ id: "added/one", upstreamId: "one", premium: false }];
  const manifest = { name: "added", baseUrl: "http://127.0.0.1:9/v1", dialect: "openai", credential: "none", models };
  const file = write("added.json", encode(JSON.stringify(manifest, null, 2)));
  expect(await bench.run("plugin", "check", file)).toMatchObject({ code: 0 });
});

test.each(encodings)("import litellm reads a configuration with %s", async (_, encode) => {
  const yaml =
    "model_list:\n  - model_name: fast\n    litellm_params:\n      model: openai/gpt-4o-mini\n      api_key: sk-of-a-test\n";
  const file = write("config.yaml", encode(yaml));
  const { code, stdout } = await bench.run("import", "litellm", file, "--dry-run");
  expect(code).toBe(0);
  expect(stdout).toContain("fast");
});

test.each(encodings)("ledger reconcile reads a usage file with %s", async (_, encode) => {
  const file = write("usage.csv", encode("day,model,requests\n2026-11-01,acme-1,1\n"));
  const { stdout, stderr } = await bench.run("ledger", "reconcile", file);
  expect(stderr).toBe("");
  expect(stdout).toContain("2026-11-01");
});
