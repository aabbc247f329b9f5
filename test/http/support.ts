import { type Caller, GatewayError, type ProviderPlugin } from "../../src/contract/index.ts";
import { BodyMemoryLimiter } from "../../src/http/body-memory.ts";
import type { Files, HttpGround } from "../../src/http/ground.ts";
import { KeepAlive } from "../../src/http/keep-alive.ts";
import { createHttp } from "../../src/http/server.ts";
import { Gate } from "../../src/kernel/index.ts";
import { completionOf } from "../kernel/streams.ts";
import { benchOf, caller, pluginOf } from "../kernel/support.ts";

export const goodKey = "sk-mg-good";

/** A store of files in a map; expired ones are gone, as in the real one. */
function fakeFiles(now: () => number): Files & { kept: Map<string, Parameters<Files["put"]>[0]> } {
  const kept = new Map<string, Parameters<Files["put"]>[0]>();
  return {
    kept,
    async put(file) {
      const id = `file-${kept.size + 1}`;
      kept.set(id, file);
      return id;
    },
    async get(id) {
      const file = kept.get(id);
      return file === undefined || file.expiresAt <= now() ? undefined : file;
    },
  };
}

/** A plugin that answers every chat with "Hello". */
export const helloPlugin = pluginOf({ chat: async () => completionOf("Hello") });

/** The HTTP side over fakes: one good key, in-memory files, and the given plugins. */
export function httpOf(plugins: readonly ProviderPlugin[] = [helloPlugin], changes: Partial<HttpGround> = {}) {
  const bench = benchOf(plugins);
  const tokens: string[] = [];
  const files = fakeFiles(bench.clock.now);
  const authenticate = (token: string): Caller => {
    tokens.push(token);
    if (token === goodKey) return caller;
    throw new GatewayError("invalid_api_key", "This API key is not valid");
  };
  const ground: HttpGround = {
    kernel: bench.kernel,
    ledger: bench.ledger,
    authenticate,
    gate: new Gate(),
    bodies: new BodyMemoryLimiter(2 ** 28),
    keepAlive: new KeepAlive(0),
    files,
    signingSecret: "a secret for tests",
    log: bench.log,
    now: bench.clock.now,
    basePath: "/api/v1",
    corsOrigins: [],
    sandbox: false,
    version: "1.2.3",
    troubles: async () => [],
    warnings: () => [],
    ...changes,
  };
  const app = createHttp(ground);
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
  return { ...bench, app, ground, files, tokens, ask, post };
}

export const messages = [{ role: "user", content: "Say hello" }];
