import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Model, ProviderPlugin } from "../../../src/provider/index.ts";
import { loadCode } from "../../../src/providers/load-code.bun.ts";
import { PluginManager, type PluginManagerOptions } from "../../../src/providers/plugin-manager.ts";
import { definePlugin } from "../../../src/sdk/index.ts";
import { keepLog } from "../kernel/support.ts";

/** A home folder of a test's own. */
export interface Home {
  readonly path: string;
  /** Writes a file below the home, making its folders. */
  write(name: string, content: string | object): void;
  remove(name: string): void;
  clear(): void;
}

export function makeHome(): Home {
  const path = mkdtempSync(join(tmpdir(), "modelgate-loader-"));
  return {
    path,
    write(name, content) {
      mkdirSync(join(path, dirname(name)), { recursive: true });
      writeFileSync(join(path, name), typeof content === "string" ? content : JSON.stringify(content));
    },
    remove: (name) => rmSync(join(path, name), { recursive: true, force: true }),
    clear: () => rmSync(path, { recursive: true, force: true }),
  };
}

export const row: Model = {
  id: "acme-1",
  upstreamId: "acme-1",
  capability: "chat",
  premium: false,
  ownedBy: "acme",
  created: 0,
};

/** A manifest that is in order, changed as given. */
export const manifest = (changes: Record<string, unknown> = {}) => ({
  baseUrl: "http://127.0.0.1:9/v1",
  dialect: "openai",
  credential: "none",
  models: [{ id: "acme-1", premium: false }],
  ...changes,
});

/** A code plugin that is in order, of this name. */
export const code = (name: string, model = `${name}-1`) => `
import { definePlugin, openai } from "modelgate/plugin";
const row = { id: "${model}", upstreamId: "${model}", capability: "chat", premium: false, ownedBy: "x", created: 0 };
export default definePlugin({
  name: "${name}", baseUrl: "http://127.0.0.1:9/v1", credential: "none", models: [row], handlers: openai({ chat: {} }),
});
`;

/** A plugin compiled in; it has a key. */
export function builtIn(name: string, models: readonly Partial<Model>[] = [{}]): ProviderPlugin {
  const handlers = {
    chat: () => Promise.reject(new Error("not asked")),
    embeddings: () => Promise.reject(new Error("no")),
  };
  const rows = models.map((changes) => ({ ...row, id: `${name}-1`, ...changes }));
  return definePlugin({ name, baseUrl: "https://api.example.org", models: rows, handlers });
}

/** The stock of a home, with what a test changes. */
export function stockOf(home: Home, changes: Partial<PluginManagerOptions> = {}) {
  const log = keepLog();
  const pluginManager = new PluginManager({
    builtIns: [],
    pluginFolders: [{ path: `${home.path}/plugins`, label: "plugins", required: false }],
    catalogueFolder: { path: `${home.path}/catalogue`, label: "catalogue", required: false },
    sandbox: { setting: "off", isLoopback: true, createSandbox: (models) => builtIn("sandbox", models) },
    readCredentials: () => ({ keys: ["key"] }),
    loadCode,
    log,
    now: () => 1000,
    ...changes,
  });
  return { pluginManager, log };
}
