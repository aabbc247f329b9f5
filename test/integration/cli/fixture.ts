import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BuiltIns, type CliContext, runCli } from "../../../src/cli/index.ts";
import { UpstreamError } from "../../../src/contract/index.ts";
import type { Model, ProviderPlugin } from "../../../src/provider/index.ts";

/** What a command line came to. */
export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** A command line on a home of its own, with plugins of its own, and no process. */
export interface Bench {
  readonly home: string;
  run(...argv: string[]): Promise<Outcome>;
  /** Runs with `--json` and reads the one value. */
  json<T = unknown>(...argv: string[]): Promise<T>;
  remove(): void;
}

/** 2026-11-21, 10:00 UTC. */
export const benchNow = Date.parse("2026-11-21T10:00:00Z");

export function makeBench({
  plugins = [makePlugin("acme", [makeRow()])],
  manifests = {},
  createSandbox = (models) => makePlugin("sandbox", models),
  ...given
}: Partial<CliContext & BuiltIns> = {}): Bench {
  const home = mkdtempSync(join(tmpdir(), "modelgate-cli-"));
  const run = async (...argv: string[]): Promise<Outcome> => {
    const outcome: Outcome = { code: -1, stdout: "", stderr: "" };
    outcome.code = await runCli(argv, {
      loadBuiltIns: async () => ({ plugins, manifests, createSandbox }),
      serve: async () => undefined,
      version: { version: "1.2.3" },
      now: () => benchNow,
      ...given,
      env: { MODELGATE_HOME: home, ...given.env },
      stdout: (text) => {
        outcome.stdout += text;
      },
      stderr: (text) => {
        outcome.stderr += text;
      },
    });
    return outcome;
  };
  return {
    home,
    run,
    async json<T>(...argv: string[]) {
      const { code, stdout, stderr } = await run(...argv, "--json");
      if (code !== 0) throw new Error(`modelgate ${argv.join(" ")} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout) as T;
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}

/** A priced chat row, changed as given. */
export function makeRow(changes: Partial<Model> = {}): Model {
  return {
    id: "acme-1",
    upstreamId: "acme-1",
    capability: "chat",
    premium: false,
    ownedBy: "acme",
    created: 0,
    price: { inputToken: { usd: "0.10", per: 1_000_000 }, outputToken: { usd: "0.40", per: 1_000_000 } },
    ...changes,
  };
}

export function makePlugin(name: string, models: readonly Model[]): ProviderPlugin {
  return {
    name,
    contractVersion: 1,
    baseUrl: "https://api.example.org",
    hosts: [],
    credential: "key",
    authorize: () => ({}),
    models,
    handlers: {},
    maxChoices: {},
    readUsage: () => undefined,
    readError: () => new UpstreamError("bad_response", "No answer"),
  };
}
