import { anthropic, isRecord, mapRequests } from "modelgate/plugin";
import type { MappedRequest } from "../../src/protocols/map-requests.ts";
import type { ModelParts } from "../../src/provider/index.ts";

const { modelOptions, ...parts } = anthropic({ headers: { "anthropic-version": "2023-06-01" } });

/** Claude on Foundry speaks Anthropic's protocol, at another endpoint than OpenAI's models. */
export const claudeParts: ModelParts = { ...parts, takes: [], handlers: mapRequests(parts.handlers, toFoundry) };
export const claudeOptions = modelOptions;

function toFoundry({ path, body, baseUrl }: MappedRequest) {
  const { protocol, host } = new URL(baseUrl);
  // The host of OpenAI's models has a sibling; every other address has both.
  const foundry = host.replace(/\.openai\.azure\.com$/, ".services.ai.azure.com");
  return { path: `${protocol}//${foundry}/anthropic/v1${path}`, body: withoutScope(body) };
}

/** Cache marks say how long alone: Foundry refuses a `scope`. */
function withoutScope(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutScope);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (name !== "cache_control" || !isRecord(inner)) return [name, name === "input" ? inner : withoutScope(inner)];
      const { scope: _, ...mark } = inner;
      return [name, mark];
    }),
  );
}
