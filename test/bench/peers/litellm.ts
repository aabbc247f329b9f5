import { join } from "node:path";
import { type Contender, key, providerKey } from "./contender.ts";
import { installOnce, versionOf } from "./install.ts";

// 1.110.2 asks for a package that the registry does not have; 1.107.0 was compromised.
const version = "1.106.12";

export async function litellm(): Promise<Contender> {
  const python = await versionOf("python3", "--version");
  const folder = await installOnce(`litellm-${version}`, async (into) => {
    const pip = [join(into, "env/bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    return [
      { command: ["python3", "-m", "venv", join(into, "env")] },
      { command: [...pip, `litellm[proxy]==${version}`] },
    ];
  });
  return {
    name: "LiteLLM",
    version: `${version}, Python ${python}, 1 worker`,
    without: "all keys but a master key, limits, money, books",
    hasKeys: true,
    async commandAt({ port, provider, caFile, folder: scratch }) {
      const config = join(scratch, "litellm.json");
      await Bun.write(config, JSON.stringify(configOf(provider)));
      const command = [join(folder, "env/bin/litellm"), "--config", config, "--host", "127.0.0.1"];
      return {
        command: [...command, "--port", String(port), "--num_workers", "1", "--telemetry", "False"],
        env: {
          LITELLM_LOCAL_MODEL_COST_MAP: "True",
          LITELLM_LOG: "ERROR",
          ...(caFile !== undefined && { SSL_CERT_FILE: caFile }),
        },
      };
    },
  };
}

/** JSON is YAML too. */
function configOf(provider: string): unknown {
  const asked = (model: string, base: string) => ({ model, api_base: base, api_key: providerKey });
  return {
    model_list: [
      { model_name: "famA-4.1-nano", litellm_params: asked("openai/gpt-4.1-nano", `${provider}/v1`) },
      { model_name: "famC-haiku-4-5", litellm_params: asked("anthropic/claude-haiku-4-5", provider) },
    ],
    general_settings: { master_key: key },
  };
}
