import type { App } from "../app.ts";
import { type Config, getLocalOrigin, getPublicOrigin } from "../config/index.ts";
import type { ModelEntry } from "../kernel/index.ts";
import { getDisplayName, getRetirement } from "../provider/index.ts";
import { countSimulated, isOfSandbox } from "../providers/index.ts";
import type { Bootstrap } from "./bootstrap.ts";
import { columns } from "./lib/format.ts";

const warningsMax = 3;

interface BannerOptions extends Bootstrap {
  readonly config: Config;
  readonly port: number;
  /** The port of `/metrics`, when it has its own. */
  readonly metricsPort: number | undefined;
  readonly app: Pick<App, "kernel" | "sandbox" | "warnings">;
}

/** Formats what `serve` prints: the addresses, the first key and sign-in, and a `curl` line to paste. */
export function formatStartupBanner({ config, port, metricsPort, key, owner, app }: BannerOptions): string {
  const origin = getPublicOrigin(config, port);
  const baseUrl = `${origin}${config.basePath}`;
  const { registry } = app.kernel;
  const rows: (string[] | false | undefined)[] = [
    ["Base URL", `${baseUrl}   (also ${origin}/v1)`],
    ["API key", describeKey(key)],
    owner && ["Sign in", `${owner.email} with ${owner.password}   (shown only once; change it)`],
    ["Models", String(registry.size)],
    ["Dashboard", `${origin}/`],
    ["API docs", `${origin}/docs`],
    metricsPort !== undefined && ["Metrics", `${getLocalOrigin(config.metricsHost, metricsPort)}/metrics`],
    ["Store", config.databaseUrl === undefined ? `embedded (SQLite in ${config.home})` : "PostgreSQL"],
    describeSandbox(app),
    ...describeWarnings(app.warnings),
  ];
  const shown = rows.filter((row) => row !== false && row !== undefined);
  const lines = ["modelgate is serving", "", columns(shown.map(([name = "", value = ""]) => [`  ${name}`, value])), ""];
  const model = pickModel(registry.modelEntries);
  if (model !== undefined) {
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "Say hello" }] });
    // In double quotes, because the shell must expand $MODELGATE_KEY.
    const authorization = `"Authorization: Bearer ${key === undefined || key.given ? "$MODELGATE_KEY" : key.key}"`;
    const headers = `-H ${authorization} -H 'Content-Type: application/json'`;
    lines.push("Try it:", "", `  curl ${baseUrl}/chat/completions ${headers} -d '${body}'`, "");
  }
  return `${lines.join("\n")}\n`;
}

function describeKey(key: Bootstrap["key"]): string {
  if (key === undefined)
    return "created earlier; for a new one: modelgate key create --account owner@localhost --name new";
  return key.given ? "the value of MODELGATE_BOOTSTRAP_KEY" : `${key.key}   (shown only once)`;
}

/** Beside real providers, `SANDBOX=on` simulates the models that none of them has. */
function describeSandbox({ kernel: { registry }, sandbox }: BannerOptions["app"]): string[] | undefined {
  if (sandbox) return ["Sandbox", "ON: all answers are simulated, no provider is called and nothing is spent"];
  const simulated = countSimulated(registry);
  const rest = "models without a real provider are simulated, and paid ones are charged";
  return simulated === 0 ? undefined : ["Sandbox", `ON: ${simulated} of ${registry.size} ${rest}`];
}

function describeWarnings(warnings: readonly string[]): string[][] {
  const rows = warnings.slice(0, warningsMax).map((message) => ["Warning", message]);
  const rest = warnings.length - rows.length;
  return rest === 0 ? rows : [...rows, ["", `and ${rest} more: modelgate plugin list`]];
}

/** A free chat model by the name that people know, if possible one that is not simulated and not retired. */
function pickModel(modelEntries: Iterable<ModelEntry>): string | undefined {
  const now = Date.now();
  const free = [...modelEntries].filter(({ model }) => model.capability === "chat" && !model.premium);
  const current = free.filter(({ model }) => getRetirement(model, now) === undefined);
  const chosen = current.find((entry) => !isOfSandbox(entry)) ?? current[0] ?? free[0];
  return chosen && getDisplayName(chosen.model);
}
