import { Database } from "bun:sqlite";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { type Contender, type Place, providerKey } from "./contender.ts";
import { installOnce } from "./install.ts";

const version = "0.9.0";
const features = "sqlite,metrics,tracing";

/** It keeps keys and budgets in SQLite, so of the fast ones it does the most of what ours does. */
export async function litellmRs(): Promise<Contender> {
  const folder = await installOnce(`litellm-rs-${version}`, async (into) => {
    const from = ["litellm-rs", "--version", version, "--locked", "--bin", "gateway"];
    return [
      { command: ["cargo", "install", ...from, "--no-default-features", "--features", features, "--root", into] },
    ];
  });
  let database = "";
  return {
    name: "litellm-rs",
    version: `${version}, Rust`,
    without: "money and books; its guardrails are off",
    lacks: ["responses", "messages"],
    hasKeys: true,
    async commandAt(place) {
      const config = join(place.folder, "litellm-rs.yaml");
      database = join(place.folder, "litellm-rs.db");
      await Bun.write(config, JSON.stringify(configOf(place)));
      return {
        command: [join(folder, "bin/gateway"), "--config", config],
        env: {
          RUST_LOG: "error",
          ...(place.caFile !== undefined && { SSL_CERT_FILE: place.caFile }),
        },
      };
    },
    makeKey: (origin) => makeKey(origin, database),
  };
}

/** A key of a user of its own, whose e-mail counts as verified: nobody here reads the letter. */
async function makeKey(origin: string, database: string): Promise<string> {
  const post = async (path: string, body: unknown, token?: string) => {
    const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
    const response = await fetch(origin + path, { method: "POST", headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return (JSON.parse(text) as { data: Record<string, string> }).data;
  };
  // It is started several times on one database, in which a name and an e-mail are one user's.
  const username = `bench-${randomBytes(4).toString("hex")}`;
  const user = { username, password: `Aa1!${randomBytes(12).toString("hex")}` };
  await post("/auth/register", { ...user, email: `${username}@example.com` });
  const users = new Database(database);
  users.run("update users set status = 'active', email_verified = 1");
  users.close();
  const { access_token: token } = await post("/auth/login", user);
  const { key } = await post("/v1/keys", { name: "bench" }, token);
  // A bearer is taken for a token of a user.
  return `ApiKey ${key}`;
}

/** JSON is YAML too. */
function configOf({ port, provider, folder }: Place): unknown {
  return {
    schema_version: "1.0",
    server: { host: "127.0.0.1", port, workers: 2, max_connections: 10_000 },
    // Only a provider of this type may stand on the loopback.
    providers: [
      {
        name: "local",
        provider_type: "openai_compatible",
        endpoint_access: "private_network",
        api_key: providerKey,
        base_url: `${provider}/v1`,
        models: ["famA-4.1-nano"],
        rpm: 100_000_000,
        tpm: 1_000_000_000,
        max_concurrent_requests: 10_000,
        enabled: true,
      },
    ],
    router: {
      strategy: "round_robin",
      circuit_breaker: { failure_threshold: 100, recovery_timeout: 1, min_requests: 100, success_threshold: 1 },
      load_balancer: { health_check_enabled: false },
    },
    storage: {
      database: { url: `sqlite://${join(folder, "litellm-rs.db")}?mode=rwc`, enabled: true, auto_migrate: true },
      redis: { url: "redis://127.0.0.1:6379", enabled: false },
    },
    auth: {
      enable_jwt: true,
      enable_api_key: true,
      jwt_secret: `Aa${randomBytes(32).toString("hex")}`,
      jwt_expiration: 86_400,
      api_key_header: "Authorization",
    },
    monitoring: {
      metrics: { enabled: true, port: 9090, path: "/metrics" },
      tracing: { enabled: false, endpoint: null, service_name: "litellm-rs" },
      health: { path: "/health", detailed: false },
    },
    pricing: {
      source: "embedded://model_prices_extended",
      allow_degraded: false,
      unpriced_model_policy: "allow_unpriced",
    },
    guardrails: { enabled: false },
  };
}
