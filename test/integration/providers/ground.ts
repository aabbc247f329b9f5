import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtIns, manifests, sandbox } from "../../../plugins/index.ts";
import { type App, createApp } from "../../../src/app.ts";
import { readConfig } from "../../../src/config/index.ts";
import type { Store } from "../../../src/db/index.ts";
import { createLog } from "../../../src/observability/log.ts";

/** A provider on the loopback that speaks OpenAI's protocol and knows some keys. */
export function startProvider(...keys: string[]) {
  const known = new Set(keys);
  const asked: string[] = [];
  const answer = { status: 200, delayMs: 0 };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const key = request.headers.get("authorization")?.replace("Bearer ", "") ?? "";
      asked.push(key);
      const { model } = (await request.json()) as { model: string };
      if (!known.has(key)) return Response.json({ error: { message: `Incorrect API key: ${key}` } }, { status: 401 });
      if (answer.delayMs > 0) await Bun.sleep(answer.delayMs);
      if (answer.status !== 200) return Response.json({ error: { message: "broken" } }, { status: answer.status });
      return Response.json({
        id: "1",
        object: "chat.completion",
        created: 1,
        model,
        choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "OK" } }],
        usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
      });
    },
  });
  return { baseUrl: `http://127.0.0.1:${server.port}/v1`, known, asked, answer, stop: () => server.stop(true) };
}

export const manifestOf = (baseUrl: string, model = "acme/chat") => ({
  ...{ baseUrl, dialect: "openai" },
  models: [{ id: model, premium: false }],
});

/** A gateway on a store, with a home of its own and an administrator who is signed in. */
export async function startNode(store: Store, env: Record<string, string> = {}, home = newHome()) {
  const config = readConfig({ MODELGATE_HOME: home, HOST: "127.0.0.1", ...env });
  const lines: string[] = [];
  const log = createLog("info", (text) => {
    lines.push(text);
    return Promise.resolve();
  });
  const app = await createApp({ config, store, plugins: builtIns, manifests, createSandbox: sandbox, log, version: "t" });
  app.http.listen({ hostname: "127.0.0.1", port: 0, idleTimeout: 60 });
  const origin = `http://127.0.0.1:${app.http.server?.port}`;
  return { app, home, origin, lines, log, store, close: () => closeNode(app) };
}

export type Node = Awaited<ReturnType<typeof startNode>>;

const homes: string[] = [];

export function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), "modelgate-providers-"));
  homes.push(home);
  return home;
}

export function removeHomes(): void {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
}

async function closeNode(app: App): Promise<void> {
  await app.http.stop(true);
  await app.close();
}

/** What an administrator and a client do with a gateway. */
export async function useNode(node: Node, cookie: string) {
  const send = (method: string, path: string, body?: unknown) =>
    fetch(`${node.origin}/dashboard/api/admin/providers${path}`, {
      method,
      headers: { cookie, origin: node.origin, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const list = async () => (await (await send("GET", "")).json()) as ProviderList;
  const find = async (name: string) => (await list()).data.find((provider) => provider.name === name);
  return { send, list, find };
}

export interface ProviderList {
  data: {
    name: string;
    status: string;
    enabled: boolean;
    managed: boolean;
    keys: { id: string; last4: string; set_by: string; readable: boolean; source: string | null; state: string }[];
    routes: { model: string; priority: number; attempts: { calls: number; errors: number } }[];
  }[];
  sandbox: { setting: string; source: string; active: boolean };
}

