import { afterAll, beforeAll } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillWallet, type Gateway, startGateway } from "./gateway.ts";
import { type LedgerView, openCliStore } from "./ledger-view.ts";
import { type Recorder, startRecorder } from "./recorder.ts";
import { type ScriptedProviders, startScriptedProviders } from "./scripted-providers.ts";

/**
 * Names of a model of each provider. Codex chooses its tools by the name: it gives its free-text `apply_patch` to names
 * that begin with gpt-5.5.
 */
const aliases = {
  openai: { id: "famA-5.4", aliases: ["gpt-5.4", "gpt-5.5"] },
  anthropic: { id: "famC-sonnet-4-6", aliases: ["claude-sonnet-4-6", "gpt-5.5-claude"] },
  gemini: { id: "famB-3-flash", aliases: ["gemini-3-flash-preview", "gpt-5.5-gemini"] },
};

/** A gateway before scripted providers, and a recorder before the gateway. */
export interface AgentsGateway {
  gateway: Gateway;
  ledger: LedgerView;
  providers: ScriptedProviders;
  recorder: Recorder;
  /** Starts the gateway anew at its address, with its home: the routes that failures have paused are served again. */
  restart(): Promise<void>;
}

type Settings = Record<string, string>;

/**
 * Starts one before the tests of the calling file and ends it after them; its members are there once tests run.
 *
 * @param settings More settings of the gateway, also such as name an address of the scripted providers.
 * @param manifests Further providers, by name.
 */
export function useAgentsGateway(
  settings: Settings | ((origin: string) => Settings) = {},
  manifests: Record<string, object> = {},
): AgentsGateway {
  const shared = {} as AgentsGateway;
  const home = mkdtempSync(join(tmpdir(), "modelgate-agents-"));
  beforeAll(async () => {
    mkdirSync(join(home, "catalogue"));
    for (const [provider, row] of Object.entries(aliases)) {
      writeFileSync(join(home, `catalogue/${provider}.json`), JSON.stringify({ models: [row] }));
    }
    mkdirSync(join(home, "plugins"));
    for (const [provider, manifest] of Object.entries(manifests)) {
      writeFileSync(join(home, `plugins/${provider}.json`), JSON.stringify(manifest));
    }
    shared.providers = startScriptedProviders();
    const { origin } = new URL(shared.providers.env.OPENAI_BASE_URL as string);
    const env = { ...shared.providers.env, ...(typeof settings === "function" ? settings(origin) : settings) };
    shared.gateway = await startGateway({ home, env });
    await fillWallet(shared.gateway);
    shared.ledger = openCliStore(home);
    shared.recorder = startRecorder(shared.gateway.origin);
    shared.restart = async () => {
      const { port } = new URL(shared.gateway.origin);
      await shared.gateway.stop();
      shared.gateway = await startGateway({ home, env: { ...env, PORT: port } });
    };
  });
  afterAll(async () => {
    shared.ledger?.close();
    await shared.recorder?.stop();
    await shared.gateway?.stop();
    await shared.providers?.stop();
    rmSync(home, { recursive: true, force: true });
  });
  return shared;
}
