import { afterAll, afterEach } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manifests, sandbox } from "../../../plugins/index.ts";
import { type App, createApp } from "../../../src/app.ts";
import { readConfig } from "../../../src/config/index.ts";
import { openStore, type Role, type Store } from "../../../src/db/index.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { creditWallet } from "../../../src/ledger/index.ts";
import { createLog } from "../../../src/observability/log.ts";
import { startProvider } from "../../support/chat-provider.ts";
import { lastingPlugins } from "../../support/lasting.ts";
import { migratedPostgres } from "../../support/migrated-postgres.ts";
import { enterAs } from "../../support/session-cookie.ts";

export const manifestOf = (baseUrl: string, model = "acme/chat") => ({
  baseUrl,
  dialect: "openai",
  models: [{ id: model, premium: false }],
});

/** A gateway on a store, with a home of its own and somebody who is signed in. */
export async function startNode(store: Store, env: Record<string, string> = {}, home = newHome()) {
  const config = readConfig({ MODELGATE_HOME: home, HOST: "127.0.0.1", ...env });
  const lines: string[] = [];
  const log = createLog("info", (text) => {
    lines.push(text);
    return Promise.resolve();
  });
  const app = await createApp({
    config,
    store,
    plugins: lastingPlugins,
    manifests,
    createSandbox: sandbox,
    log,
    version: "t",
  });
  app.http.listen({ hostname: "127.0.0.1", port: 0, idleTimeout: 60 });
  const origin = `http://127.0.0.1:${app.http.server?.port}`;
  return { app, home, origin, lines, log, store, close: () => closeNode(app) };
}

export type Node = Awaited<ReturnType<typeof startNode>>;

const homes: string[] = [];

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), "modelgate-providers-"));
  homes.push(home);
  return home;
}

async function closeNode(app: App): Promise<void> {
  await app.http.stop(true);
  await app.close();
}

/** What an administrator and a client do with a gateway. */
export async function useNode(node: Node, cookie: string) {
  const send = (method: string, path: string, body?: unknown) =>
    fetch(`${node.origin}/v1/organization${path}`, {
      method,
      headers: { cookie, origin: node.origin, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const read = async (path: string) => {
    const response = await send("GET", path);
    if (!response.ok) throw new Error(`GET ${path} failed: ${response.status} ${node.lines.at(-1)}`);
    return await response.json();
  };
  const list = async (): Promise<ProviderList> => {
    const { data } = (await read("/providers?limit=100")) as Pick<ProviderList, "data">;
    return { data, sandbox: (await read("/sandbox")) as ProviderList["sandbox"] };
  };
  const find = async (name: string) => (await list()).data.find((provider) => provider.name === name);
  return { send, list, find };
}

export interface ProviderList {
  data: {
    name: string;
    status: string;
    enabled: boolean;
    managed: boolean;
    keys: {
      id: string;
      last4: string;
      created_by_email: string;
      readable: boolean;
      source: string | null;
      state: string;
    }[];
    routes: { model: string; priority: number; attempts: { calls: number; errors: number } }[];
  }[];
  sandbox: { setting: string; source: string; active: boolean };
}

const undo: (() => unknown)[] = [];

/** What each test has opened is closed after it, the last first. */
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});
afterAll(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
});

export const engines = {
  sqlite: async () => {
    const file = join(newHome(), "modelgate.db");
    return () => openStore({ file });
  },
  postgres: async () => {
    const url = await migratedPostgres();
    return () => openStore({ url, timeoutMs: 10_000 });
  },
};

export async function open(engine: keyof typeof engines) {
  const openNext = await engines[engine]();
  return async () => {
    const store = await openNext();
    undo.push(() => store.close());
    return store;
  };
}

export async function start(store: Store, env: Record<string, string> = {}, home?: string) {
  const node = await startNode(store, env, home);
  undo.push(node.close);
  return node;
}

export function provider(...keys: string[]) {
  const started = startProvider(...keys);
  undo.push(started.stop);
  return started;
}

/** Enters an owner, who alone may add the providers of these tests: they are on this machine. */
export async function enter(store: Store, role: Role = "owner") {
  const account = { email: `${crypto.randomUUID()}@example.org` };
  const accounts = createAccounts({ store, defaults: readConfig({}), now: Date.now });
  const { id: accountId } = await accounts.create(account);
  const { key } = await accounts.createKey({ accountId, name: "test" });
  await creditWallet(store, { accountId, nanodollars: 1_000_000_000, note: "test" });
  return { ...account, key, cookie: await enterAs(store, { accountId, role }, Date.now()) };
}

export const call = (origin: string, key: string, model = "acme/chat") =>
  fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] }),
  });
