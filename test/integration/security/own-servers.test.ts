import { afterAll, beforeAll, expect, test } from "bun:test";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

/** What a caller would have a server of the operator's ask or open, and names of it that a guard could miss. */
const addresses = [
  "http://169.254.169.254/latest/meta-data",
  "http://10.0.0.5:8080/admin?delete=1",
  "https://127.0.0.1/a.png",
  "https://localhost/a.png",
  "https://[::1]/a.png",
  "https://2130706433/a.png",
  "file:///etc/passwd",
  "FILE:/etc/passwd",
  "/etc/passwd",
  "//etc/passwd",
  "../secret.png",
  "~/.ssh/id_rsa",
  "ftp://10.0.0.5/a.png",
];

type Build = (url: string) => object;
const asking = (part: object) => ({ messages: [{ role: "user", content: [{ type: "text", text: "See" }, part] }] });
const image: Build = (url) => asking({ type: "image_url", image_url: { url } });
const source = (type: string, url: string) => asking({ type, source: { type: "url", url } });

/** Everything in a request that a server could take for an address. */
const requests: [path: string, model: string, build: Build][] = [
  ["/chat/completions", "vl", image],
  ["/chat/completions", "vl", (url) => ({ ...image(url), stream: true })],
  ["/chat/completions", "vl", (url) => asking({ type: "file", file: { file_data: url, filename: "a.pdf" } })],
  ["/chat/completions", "vl", (url) => asking({ type: "text", text: "See", image_url: { url } })],
  ["/chat/completions", "vl", (url) => ({ messages: [{ role: "user", content: "See" }], images: [url] })],
  ["/chat/completions", "claude-own", image],
  ["/responses", "vl", (url) => ({ input: [{ role: "user", content: [{ type: "input_image", image_url: url }] }] })],
  ["/responses", "vl", (url) => ({ input: [{ role: "user", content: [{ type: "input_file", file_url: url }] }] })],
  ["/messages", "claude-own", (url) => ({ max_tokens: 9, ...source("image", url) })],
  ["/messages", "claude-own", (url) => ({ max_tokens: 9, ...source("document", url) })],
  ["/messages", "vl", (url) => ({ max_tokens: 9, ...source("image", url) })],
  ["/embeddings", "embed-own", (url) => ({ input: "See", ...image(url) })],
  ["/embeddings", "embed-own", (url) => ({ input: [url], modality: "image" })],
];

let gateway: InProcessGateway;
const seen: string[] = [];
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    if (request.method === "POST") seen.push(await request.text());
    return Response.json({ error: { message: "No" } }, { status: 400 });
  },
});

beforeAll(async () => {
  const baseUrl = `http://127.0.0.1:${server.port}/v1`;
  const row = (id: string, capability = "chat") => ({
    id,
    upstreamId: id,
    capability,
    premium: false,
    ownedBy: "me",
    created: 0,
  });
  const manifest = { baseUrl, credential: "none" };
  gateway = await startInProcess({
    env: { SANDBOX: "off", FREE_TOKENS_PER_DAY: "1000000000", TOKENS_PER_MINUTE: "1000000000" },
    files: {
      "plugins/own.json": {
        name: "own",
        ...manifest,
        dialect: "openai",
        options: { chat: {}, embeddings: {}, responses: {} },
        models: [row("vl"), row("embed-own", "embeddings")],
      },
      "plugins/own-claude.json": {
        name: "own-claude",
        ...manifest,
        dialect: "anthropic",
        models: [{ ...row("claude-own"), contextTokens: 100_000 }],
      },
    },
  });
});
afterAll(async () => {
  await gateway?.stop();
  await server.stop(true);
});

test("no address that a caller names reaches a server of the operator's own", async () => {
  const wrong: unknown[] = [];
  for (const [path, model, build] of requests) {
    for (const url of addresses) {
      const before = seen.length;
      const response = await gateway.post(path, { model, ...build(url) });
      const { error } = (await response.json()) as { error: Record<string, unknown> };
      const isNamed = typeof error.param === "string" || path === "/messages";
      if (response.status !== 400 || !isNamed || seen.length > before)
        wrong.push([path, model, url, response.status, error]);
    }
  }
  expect(wrong).toEqual([]);
});

test("bytes and addresses in texts reach it", async () => {
  const before = seen.length;
  const text = `Read ${addresses[0]} and ${addresses[6]}`;
  await gateway.post("/chat/completions", { model: "vl", messages: [{ role: "user", content: text }] });
  await gateway.post("/chat/completions", { model: "vl", ...image("data:image/png;base64,iVBORw0KGgo=") });
  expect(seen.slice(before).map((body) => JSON.parse(body).messages)).toEqual([
    [{ role: "user", content: text }],
    [
      {
        role: "user",
        content: [
          { type: "text", text: "See" },
          { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
        ],
      },
    ],
  ]);
});
