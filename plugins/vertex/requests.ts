import { isRecord } from "modelgate/plugin";
import type { MappedRequest } from "../../src/protocols/map-requests.ts";
import { versionOf } from "../../src/protocols/messages/outbound.ts";
import { hostOf } from "./credential.ts";

/** Where the row of a model names no other. */
const anthropicVersion = "vertex-2023-10-16";
const tierHeader = "x-vertex-ai-llm-shared-request-type";

/**
 * Maps requests for Google's own models: the paths of the Gemini API are below their publisher. A token count has no
 * envelope here, and a header selects the service tier.
 * https://cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo
 */
export function toGoogle(request: MappedRequest) {
  const { path, body } = request;
  const counted = path.endsWith(":countTokens") && isRecord(body) ? body.generateContentRequest : undefined;
  const { model: _, ...content }: Record<string, unknown> = isRecord(counted) ? counted : {};
  if (counted !== undefined) return { path: place(`/google${path}`, request), body: content };
  const { serviceTier: tier, ...untiered }: Record<string, unknown> = isRecord(body) ? body : {};
  const moved = { path: place(`/google${path}`, request), body: isRecord(body) ? untiered : body };
  return typeof tier === "string" ? { ...moved, headers: { [tierHeader]: tier } } : moved;
}

/** Claude: the model is in the path, the version in the body. https://docs.anthropic.com/en/api/claude-on-vertex-ai */
export function toAnthropic(request: MappedRequest) {
  const { path, model } = request;
  const { model: name, ...body }: Record<string, unknown> = isRecord(request.body) ? request.body : {};
  const versioned = { anthropic_version: versionOf(model, anthropicVersion), ...body };
  if (path.endsWith("/count_tokens")) {
    return { path: place("/anthropic/models/count-tokens:rawPredict", request), body: { model: name, ...versioned } };
  }
  const method = body.stream === true ? "streamRawPredict" : "rawPredict";
  return { path: place(`/anthropic/models/${model.upstreamId}:${method}`, request), body: versioned };
}

/** Returns the path at the location of the row, if the row has one: its price is for that location. */
function place(path: string, { model, baseUrl }: MappedRequest): string {
  const { location } = model.options ?? {};
  const urlLocation = /\/locations\/([^/]+)/.exec(baseUrl)?.[1];
  if (typeof location !== "string" || urlLocation === undefined || urlLocation === location) return path;
  // At an address that the operator gave, only the path says the place.
  const moved = baseUrl.replace(`//${hostOf(urlLocation)}/`, `//${hostOf(location)}/`);
  return moved.replace(`/locations/${urlLocation}/`, `/locations/${location}/`) + path;
}
