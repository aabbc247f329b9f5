import { join } from "node:path";
import { type Contender, key, providerKey } from "./contender.ts";
import { installWheel } from "./install.ts";

const version = "1.5.10";

/** Its binary has no setting for the address: it listens on all, with a key. */
export async function ferrogw(): Promise<Contender> {
  const folder = await installWheel("ferrogw", version);
  return {
    name: "ferrogw",
    version: `${version}, Go`,
    without: "keys on disk, validation, limits by key and account, money, books",
    hasKeys: true,
    // Its Messages hand on to no provider that speaks them: 501.
    lacks: ["messages"],
    async commandAt({ port, provider, caFile, folder: scratch }) {
      const config = join(scratch, "config.json");
      await Bun.write(config, JSON.stringify(configuration));
      return {
        command: [join(folder, "bin/ferrogw"), "serve"],
        env: {
          PORT: String(port),
          GATEWAY_CONFIG: config,
          MASTER_KEY: key,
          LOG_LEVEL: "error",
          RATE_LIMIT_RPS: "1000000000",
          RATE_LIMIT_BURST: "1000000000",
          FERRO_MODEL_CATALOG_TIMEOUT: "0",
          OPENAI_API_KEY: providerKey,
          OPENAI_BASE_URL: `${provider}/v1`,
          ...(caFile !== undefined && { SSL_CERT_FILE: caFile }),
        },
      };
    },
    async makeKey(origin) {
      const response = await fetch(`${origin}/admin/keys`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ name: "bench", scopes: ["read_only"] }),
      });
      return ((await response.json()) as { key: string }).key;
    },
  };
}

const configuration = {
  strategy: { mode: "fallback" },
  targets: [{ virtual_key: "openai", models: ["famA-4.1-nano"] }],
};
