import type { App } from "../app.ts";
import type { Config } from "../config/index.ts";
import { getPublicOrigin } from "../config/index.ts";
import type { ModelEntry } from "../kernel/index.ts";
import type { FirstAdmin } from "./first-admin.ts";
import type { FirstKey } from "./first-key.ts";

/** What the start needs to know to say how to go on. */
export interface Start {
  config: Config;
  port: number;
  /** Of `/metrics`, where that has a port of its own. */
  metricsPort: number | undefined;
  key: FirstKey | undefined;
  admin: FirstAdmin | undefined;
  app: App;
}

/** The first screen: where the gateway is, with which key, a line that works when pasted, and the modes that are on. */
export function startupBanner({ config, port, metricsPort, key, admin, app }: Start): string {
  const origin = getPublicOrigin(config, port);
  const baseUrl = `${origin}${config.basePath}`;
  const { registry } = app.kernel;
  const model = modelToTry(registry.offers);
  const shownKey = key === undefined || key.given ? "$MODELGATE_KEY" : key.key;
  const lines = [
    "modelgate is serving",
    "",
    `  Base URL   ${baseUrl}   (also ${origin}/v1)`,
    `  API key    ${keyLine(key)}`,
    ...(admin === undefined
      ? []
      : [`  Sign in    ${admin.email} with ${admin.password}   (shown this once; change it)`]),
    `  Models     ${registry.size}`,
    `  Dashboard  ${origin}/`,
    `  API page   ${origin}/docs`,
    ...(metricsPort === undefined
      ? []
      : [`  Metrics    ${getPublicOrigin({ host: config.metricsHost, publicUrl: undefined }, metricsPort)}/metrics`]),
    `  Store      ${config.databaseUrl === undefined ? `embedded (SQLite in ${config.home})` : "PostgreSQL"}`,
    ...(app.sandbox ? ["  Sandbox    ON: every answer is simulated, no provider is asked and nothing is spent"] : []),
    "",
  ];
  if (model !== undefined) {
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "Say hello" }] });
    lines.push("Try it:", "");
    lines.push(
      `  curl ${baseUrl}/chat/completions -H 'Authorization: Bearer ${shownKey}' -H 'Content-Type: application/json' -d '${body}'`,
      "",
    );
  }
  return `${lines.join("\n")}\n`;
}

function keyLine(key: FirstKey | undefined): string {
  if (key === undefined) return "as made before; a new one: modelgate key create --account A --name N";
  return key.given ? "the one in MODELGATE_BOOTSTRAP_KEY" : `${key.key}   (shown this once)`;
}

/** A free chat model that its provider still has, so that the line works when pasted. */
function modelToTry(offers: Iterable<ModelEntry>): string | undefined {
  const today = new Date().toISOString().slice(0, 10);
  const free = [...offers]
    .map(({ model }) => model)
    .filter(({ capability, premium }) => capability === "chat" && !premium);
  const current = free.find(({ retiredOn }) => retiredOn === undefined || retiredOn > today);
  return (current ?? free[0])?.id;
}
