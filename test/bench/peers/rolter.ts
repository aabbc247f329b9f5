import { join } from "node:path";
import { type Contender, key, type Place, providerKey } from "./contender.ts";
import { installWheel } from "./install.ts";

const version = "0.1.0";

/** Its queue before the provider is as wide as that of the others, who have none. */
export async function rolter(): Promise<Contender> {
  const folder = await installWheel("rolter", version);
  return {
    name: "rolter",
    version: `${version}, Rust`,
    without: "keys on disk, validation; limits, money and books, for which it needs Redis, PostgreSQL and ClickHouse",
    hasKeys: true,
    async commandAt(place) {
      const config = join(place.folder, "rolter.toml");
      await Bun.write(config, configOf(place));
      return {
        command: [join(folder, "bin/rolter"), "gateway", "--config", config],
        env: { RUST_LOG: "error", ROLTER_UPDATE_CHECK: "false", PROVIDER_KEY: providerKey },
      };
    },
  };
}

function configOf({ port, provider, caFile }: Place): string {
  const routes = [
    ["openai", "famA-4.1-nano"],
    ["anthropic", "famC-haiku-4-5"],
  ].map(
    ([kind, model]) => `
[[providers.readonly]]
name = "${kind}"
kind = "${kind}"
api_base = "${provider}"
api_key_env = "PROVIDER_KEY"
allow_custom_api_base = true
[[routes]]
model = "${model}"
strategy = "round_robin"
[[routes.targets]]
provider = "${kind}"
model = "${model}"
`,
  );
  return `
[server]
host = "127.0.0.1"
port = ${port}
[tls]
ca_bundles = ${JSON.stringify(caFile === undefined ? [] : [caFile])}
[queue]
capacity = 100000
workers = 1000
[[virtual_keys]]
key = "${key}"
name = "bench"
models = []
disabled = false
${routes.join("")}`;
}
