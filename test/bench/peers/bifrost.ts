import { join } from "node:path";
import { type Contender, providerKey } from "./contender.ts";
import { installOnce, versionOf } from "./install.ts";

const version = "1.3.0";
const go = "github.com/maximhq/bifrost/transports/bifrost-http";

export async function bifrost(): Promise<Contender> {
  const goVersion = await versionOf("go", "version");
  const folder = await installOnce(`bifrost-${version}`, async (into) => [
    {
      command: ["go", "install", `${go}@v${version}`],
      env: { GOBIN: into, GOPATH: join(into, "go"), GOFLAGS: "-modcacherw" },
    },
  ]);
  return {
    name: "Bifrost",
    version: `${version}, Go ${goVersion}`,
    without: "keys, limits, money, books",
    async commandAt({ port, provider, folder: scratch }) {
      await Bun.write(join(scratch, "config.json"), JSON.stringify(configOf(provider)));
      const command = [join(folder, "bifrost-http"), "-host", "127.0.0.1", "-port", String(port)];
      return { command: [...command, "-app-dir", scratch, "-log-level", "error"] };
    },
    asking: () => ({ model: "openai/gpt-4.1-nano" }),
  };
}

function configOf(provider: string): unknown {
  const keys = [{ name: "bench", value: providerKey, models: [], weight: 1 }];
  return {
    client: { enable_logging: false },
    config_store: { enabled: false },
    logs_store: { enabled: false },
    providers: { openai: { keys, network_config: { base_url: provider } } },
  };
}
