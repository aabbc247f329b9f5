import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { builtIns } from "../../../plugins/index.ts";
import { createPluginFiles } from "../../../src/cli/plugin-new/plugin-files.ts";
import { getFieldVariable, getVariablePrefix } from "../../../src/config/index.ts";
import { type Capability, capabilities } from "../../../src/contract/index.ts";
import { getForm } from "../../../src/provider/index.ts";
import { gatewayShell } from "./gateway-shell.ts";
import { codeBlocks, readPage, readSection, root } from "./pages.ts";

const readyBlocks = codeBlocks(readSection("docs/providers.md", "## Servers of your own"), "sh");
const codeOf = codeBlocks(readSection("docs/plugins.md", "## Plugin with code"), "sh");
const tutorial = readPage("docs/write-a-plugin.md");
const secondsMax = 240_000;

/** In place of the providers that the pages name: OpenAI's dialect, and Cohere's. */
function startProvider() {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const body = (await request.json()) as { stream?: boolean };
      if (request.url.endsWith("/v1/chat")) {
        const text = "Hello there";
        const end = { finish_reason: "COMPLETE", usage: { billed_units: { input_tokens: 5, output_tokens: 6 } } };
        const content = [{ type: "text", text }];
        if (!body.stream) return Response.json({ message: { role: "assistant", content }, ...end });
        const events = [
          { type: "content-delta", index: 0, delta: { message: { content: { text } } } },
          { type: "message-end", delta: end },
        ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
        return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
      }
      const message = { role: "assistant", content: "Hello from the provider" };
      const choices = [{ index: 0, message, finish_reason: "stop" }];
      return Response.json({ choices, usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } });
    },
  });
}

describe("the pages on providers, followed word for word", () => {
  const provider = startProvider();
  const baseUrl = `http://127.0.0.1:${provider.port}/v1`;
  const shell = gatewayShell({
    env: {
      ACME_BASE_URL: baseUrl,
      BETA_BASE_URL: baseUrl,
      GAMMA_BASE_URL: baseUrl,
      BETA_API_KEY: "key-of-beta",
      GAMMA_API_KEY: "key-of-gamma",
    },
  });
  afterAll(() => provider.stop(true));

  /** What became of plugins, once the running gateway has loaded all of them. */
  async function statusOf(...names: string[]): Promise<string[]> {
    const deadline = Date.now() + 60_000;
    while (true) {
      const list = await shell.gateway.cli<{ name: string; status: string }[]>("plugin", "list");
      const statuses = names.flatMap((name) =>
        list.filter((state) => state.name === name).map((state) => state.status),
      );
      const isDone = statuses.length === names.length && statuses.every((status) => status === "serving");
      if (isDone || Date.now() > deadline) return statuses;
      await Bun.sleep(100);
    }
  }

  test(
    "a file serves a provider while the gateway runs",
    async () => {
      const [file = ""] = codeBlocks(readSection("README.md", "## Add a provider"), "sh");
      const said = await shell.follow(file);
      expect(said).toContain("acme: 16 of 16");
      expect(said).toMatch(/acme\s+serving/);
      expect(said).toContain("Hello from the provider");
      const [ready = ""] = readyBlocks;
      await shell.follow(ready);
      const [code = ""] = codeOf;
      expect(await shell.follow(code)).toContain("beta: 18 of 18");
      expect(await statusOf("acme", "beta")).toEqual(["serving", "serving"]);
    },
    secondsMax,
  );

  test(
    "a translated provider ends with full marks, and is served",
    async () => {
      const [make = "", record = "", serve = ""] = codeBlocks(tutorial, "sh");
      expect(await shell.follow(make)).toContain("gamma: 18 of 18");
      expect(await shell.follow(record)).toContain("gamma: 20 of 20");
      await shell.follow(serve);
      expect(await statusOf("gamma")).toEqual(["serving"]);
      const reply = await shell.gateway.post("/chat/completions", {
        model: "gamma-small",
        messages: [{ role: "user", content: "Hi" }],
      });
      // It is premium, and nobody has paid yet.
      expect(await reply.json()).toMatchObject({ error: { code: "insufficient_balance" } });
    },
    secondsMax,
  );
});

test("the section on translated providers shows the code that is written", async () => {
  const flush = (text: string) => text.trim().replaceAll(/^ +/gm, "");
  const written = flush((await createPluginFiles("gamma", "translated")).get("index.ts") as string);
  const shown = codeBlocks(tutorial, "ts");
  expect(shown.length).toBeGreaterThan(4);
  for (const block of shown) expect(written).toContain(flush(block));
});

test("docs/providers.md names each ready manifest", () => {
  const named = [...readPage("docs/providers.md").matchAll(/^\| `([\w-]+\.json)` +\| \[/gm)].map(
    ([, file]) => file as string,
  );
  const there = readdirSync(join(root, "plugins/manifests")).filter((file) => file.endsWith(".json"));
  expect(named.sort()).toEqual(there.sort());
});

test("docs/providers.md names each built-in provider with its key and what it serves", () => {
  const rows = [
    ...readSection("docs/providers.md", "## Built-in providers").matchAll(
      /^\| \[.+\| `(\w+)_API_KEY` +\| ([\w, ]+?) +\|$/gm,
    ),
  ];
  const named = rows.map(([, prefix, serves]) => `${prefix} ${serves}`);
  const there = builtIns
    .filter(({ credential }) => credential === "key")
    .map(({ name, models, unlisted }) => {
      const all = new Set<Capability>([
        ...models.map(({ capability }) => capability),
        ...(unlisted ? ["chat" as const] : []),
      ]);
      return `${getVariablePrefix(name)} ${capabilities.filter((capability) => all.has(capability)).join(", ")}`;
    });
  expect(named.sort()).toEqual(there.sort());
});

test("docs/providers.md lists each way to sign in at a cloud with its variables", () => {
  const rows = [
    ...readSection("docs/providers.md", "## Clouds").matchAll(
      /^\| `([\w-]+)` +\| (.+?) +\| `(\w+)` +\| (.+?) +\| (.*?) +\|$/gm,
    ),
  ].map(([, ...cells]) => cells.map((cell) => cell.replaceAll("`", "").trim()).join(" | "));
  const declared = builtIns.flatMap(({ name, credential }) => {
    const list = (fields: readonly string[]) => fields.map((field) => getFieldVariable(name, field)).join(", ");
    const methods = getForm(credential)?.methods ?? [];
    return methods.map(({ label, name: method, fields, optional = [] }) =>
      [name, label, method, list(fields), list(optional)].join(" | "),
    );
  });
  expect(rows).toEqual(declared);
});
