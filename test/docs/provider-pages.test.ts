import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { filesOfPlugin } from "../../src/cli/plugin-new/files-of-plugin.ts";
import { commandLine, type Gateway, hookMsMax, startGateway } from "../support/gateway.ts";

const root = join(import.meta.dir, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const blocksOf = (text: string, kind: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, block]) => block as string);

const section = read("README.md").split("\n## Add a provider in five minutes\n")[1]?.split("\n## ")[0] ?? "";
const page = read("plugins/README.md");
const secondsMax = 60_000;

/** Stands for the providers that the pages name: OpenAI's dialect and the made-up one. */
function startProvider() {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const body = (await request.json()) as { stream?: boolean; live?: boolean };
      if (request.url.endsWith("/generate")) {
        if (!body.live) return Response.json({ said: "Hello there", why: "done", spent: { in: 5, out: 6 } });
        const events =
          'event: piece\ndata: {"said":"Hello there"}\n\nevent: end\ndata: {"why":"done","spent":{"in":5,"out":6}}\n\n';
        return new Response(events, { headers: { "content-type": "text/event-stream" } });
      }
      const message = { role: "assistant", content: "Hello from the provider" };
      const choices = [{ index: 0, message, finish_reason: "stop" }];
      return Response.json({ choices, usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } });
    },
  });
}

describe("the pages on providers, followed word for word", () => {
  let gateway: Gateway;
  let provider: ReturnType<typeof startProvider>;
  beforeAll(async () => {
    provider = startProvider();
    const baseUrl = `http://127.0.0.1:${provider.port}/v1`;
    // A home of its own, so that `~/.modelgate` is the gateway's.
    const home = join(mkdtempSync(join(tmpdir(), "modelgate-user-")), ".modelgate");
    mkdirSync(home);
    gateway = await startGateway({
      home,
      env: { ACME_BASE_URL: baseUrl, BETA_BASE_URL: baseUrl, BETA_API_KEY: "key-of-beta", ACME_API_KEY: "key-of-acme" },
    });
    writeFileSync(
      join(home, "../modelgate"),
      `#!/bin/sh\nexec ${commandLine()
        .map((word) => `'${word}'`)
        .join(" ")} "$@"\n`,
    );
    chmodSync(join(home, "../modelgate"), 0o755);
  }, hookMsMax);
  afterAll(async () => {
    await gateway.stop();
    await provider.stop(true);
    rmSync(join(gateway.home, ".."), { recursive: true, force: true });
  });

  /** Runs a block of a page in a shell, in the user's home; the port and the key in place of the example's. */
  async function follow(block: string) {
    const user = join(gateway.home, "..");
    const child = Bun.spawn(
      [
        "sh",
        "-e",
        "-c",
        block.replaceAll("127.0.0.1:3000", new URL(gateway.origin).host).replace("=…", "=key-of-acme"),
      ],
      {
        cwd: user,
        env: {
          PATH: `${user}:${process.env.PATH}`,
          HOME: user,
          MODELGATE_KEY: gateway.key,
          ACME_BASE_URL: `http://127.0.0.1:${provider.port}/v1`,
        },
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    expect({ block, code, stderr }).toEqual({ block, code: 0, stderr: "" });
    return stdout;
  }

  /** What became of plugins, once the running gateway has taken all of them up. */
  async function standingOf(...names: string[]): Promise<string[]> {
    const deadline = Date.now() + 10_000;
    while (true) {
      const list = await gateway.cli<{ name: string; standing: string }[]>("plugin", "list");
      const standings = names.flatMap((name) =>
        list.filter((state) => state.name === name).map((state) => state.standing),
      );
      const isDone = standings.length === names.length && standings.every((standing) => standing === "serving");
      if (isDone || Date.now() > deadline) return standings;
      await Bun.sleep(100);
    }
  }

  test(
    "README: a file serves a provider while the gateway runs",
    async () => {
      const [file = "", ready = "", code = ""] = blocksOf(section, "sh");
      const said = await follow(file);
      expect(said).toContain("acme: 16 of 16");
      expect(said).toMatch(/acme\s+serving/);
      expect(said).toContain("Hello from the provider");
      await follow(ready);
      expect(await follow(code)).toContain("beta: 17 of 17");
      expect(await standingOf("acme", "beta", "vllm")).toEqual(["serving", "serving", "serving"]);
      await follow("rm ~/.modelgate/plugins/acme.json");
    },
    secondsMax,
  );

  test(
    "Write a translated provider: it ends with full marks, and is served",
    async () => {
      const [make = "", record = "", serve = ""] = blocksOf(page, "sh");
      expect(await follow(make)).toContain("acme: 17 of 17");
      expect(await follow(record)).toContain("acme: 19 of 19");
      await follow(serve);
      expect(await standingOf("acme")).toEqual(["serving"]);
      const reply = await gateway.post("/chat/completions", {
        model: "acme-small",
        messages: [{ role: "user", content: "Hi" }],
      });
      // It is premium, and nobody has paid yet.
      expect(await reply.json()).toMatchObject({ error: { code: "insufficient_balance" } });
    },
    secondsMax,
  );
});

test("Write a translated provider shows the code that is written", async () => {
  const flush = (text: string) => text.trim().replaceAll(/^ +/gm, "");
  const written = flush((await filesOfPlugin("acme", "translated")).get("index.ts") as string);
  for (const block of blocksOf(page, "ts")) expect(written).toContain(flush(block));
});

test("the page of ready manifests names each", () => {
  const told = [...read("plugins/manifests/README.md").matchAll(/^\| `([\w-]+\.json)`/gm)].map(
    ([, file]) => file as string,
  );
  const there = readdirSync(join(root, "plugins/manifests")).filter((file) => file.endsWith(".json"));
  expect(told.sort()).toEqual(there.sort());
});
