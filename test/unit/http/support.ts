import { readConfig } from "../../../src/config/index.ts";
import { type Caller, GatewayError } from "../../../src/contract/index.ts";
import { type Blobs, openStore, type StoredBlob } from "../../../src/db/index.ts";
import type { HttpDeps } from "../../../src/http/deps.ts";
import { MemoryAccountant } from "../../../src/http/memory/call-memory.ts";
import { type HttpModule, hooksOf } from "../../../src/http/module.ts";
import { createHttp } from "../../../src/http/server.ts";
import { SseHeartbeat } from "../../../src/http/sse/sse-stream.bun.ts";
import { createSignIn, TokenIssuers } from "../../../src/identity/index.ts";
import { LoadShedder } from "../../../src/kernel/index.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import type { ProviderPlugin } from "../../../src/provider/index.ts";
import { Providers, SecretBox } from "../../../src/providers/index.ts";
import { completionOf } from "../kernel/streams.ts";
import { caller, createBench, createPlugin } from "../kernel/support.ts";

export const goodKey = "sk-mg-good";
export const config = readConfig({});

/** One for all tests that do not look into it. */
const sharedStore = await openStore({ file: ":memory:" });

/** Files in a map; expired ones are gone, as in the real store. */
function fakeFiles(now: () => number): Blobs & { kept: Map<string, StoredBlob> } {
  const kept = new Map<string, StoredBlob>();
  return {
    kept,
    async put(_, file) {
      const id = `file-${kept.size + 1}`;
      kept.set(id, file);
      return id;
    },
    async storedBytes() {
      return kept.values().reduce((sum, { bytes }) => sum + bytes.length, 0);
    },
    async size(id) {
      return (await this.get(id))?.bytes.length;
    },
    async get(id) {
      const file = kept.get(id);
      return file === undefined || file.expiresAt <= now() ? undefined : file;
    },
    prune: () => Promise.reject(new Error("Nothing is pruned here")),
  };
}

const noCatalogue: HttpDeps["catalogue"] = {
  layers: () => [],
  read: () => ({ revision: "none", files: {} }),
  check: () => {
    throw new Error("Nothing is written here");
  },
  reload: () => Promise.resolve(),
};

/** A plugin that answers every chat with "Hello". */
export const helloPlugin = createPlugin({ chat: async () => completionOf("Hello") });

/** The HTTP side over a store, with fakes of the ledger, the providers and the files, and one good key. */
export function httpOf(
  plugins: readonly ProviderPlugin[] = [helloPlugin],
  changes: Partial<HttpDeps> = {},
  givenFiles?: ReturnType<typeof fakeFiles>,
  modules: readonly HttpModule[] = [],
) {
  const bench = createBench(plugins);
  const { log } = bench;
  const { now } = bench.clock;
  const tokens: string[] = [];
  const files = givenFiles ?? fakeFiles(now);
  const authenticate = (token: string): Caller => {
    tokens.push(token);
    if (token === goodKey) return caller;
    throw new GatewayError("invalid_api_key", "This API key is not valid");
  };
  const report = (error: unknown) => log.error("reported", { error });
  const store = changes.store ?? sharedStore;
  const snapshot = () => ({ plugins, policies: new Map(), states: [], sandbox: false, warnings: [] });
  const manager = { load: async () => snapshot(), fingerprint: () => "", lookFor: () => undefined } as never;
  const providers = new Providers({ config: changes.config ?? config, store, log, now, createManager: () => manager });
  // No plugins are loaded here: those of the kernel are given.
  Object.defineProperty(providers, "snapshot", { get: snapshot });
  const deps: HttpDeps = {
    server: () => null,
    config,
    version: "1.2.3",
    log,
    now,
    signIn: createSignIn({ store, secret: "a secret for tests", signUp: "closed", now, report }),
    ...hooksOf(modules),
    ledger: bench.ledger,
    kernel: bench.kernel,
    snapshot,
    catalogue: noCatalogue,
    tokenIssuers: new TokenIssuers(store, []),
    endedBranches: { expectOpen: () => undefined, load: async () => undefined },
    loadShedder: new LoadShedder(),
    memory: new MemoryAccountant(2 ** 28),
    heartbeat: new SseHeartbeat(0),
    secrets: new SecretBox({ home: "/none", secretsKey: "a secrets key of tests that is long enough" }),
    sealKey: new Uint8Array(32),
    signingSecret: "a secret for tests",
    providers,
    readinessProblems: async () => [],
    ...changes,
    store: Object.create(store, { blobs: { value: files } }),
    accounts: {
      ...createAccounts({ store, defaults: changes.config ?? config, now }),
      authenticate,
      ...changes.accounts,
    },
  };
  const app = createHttp(deps, modules);
  const ask = (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (!headers.has("authorization")) headers.set("authorization", `Bearer ${goodKey}`);
    if (headers.get("authorization") === "") headers.delete("authorization");
    return app.handle(new Request(new URL(path, "http://gateway.example/api/v1/"), { ...init, headers }));
  };
  /** POSTs JSON below the base path, with the good key. */
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return { ...bench, app, deps, files, tokens, ask, post };
}

export const messages = [{ role: "user", content: "Say hello" }];
