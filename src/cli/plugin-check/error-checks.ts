import type { ProviderPlugin } from "../../provider/index.ts";
import type { Check } from "./chat-checks.ts";
import { type CheckFinding, findMisbehaviour } from "./findings.ts";
import type { Fixture } from "./fixture.ts";
import { type Sent, simulate, simulatedKey } from "./simulate.ts";

const message = "Something about the request";
const errorBody = { error: { message, type: "error", param: null, code: null } };

/** Error codes that a caller may get for the provider's status, whatever its dialect. */
const statuses: readonly [status: number, codes: readonly string[]][] = [
  [400, ["invalid_request"]],
  [401, ["upstream_error"]],
  [404, ["model_not_found", "upstream_error", "invalid_request"]],
  [429, ["rate_limit_exceeded"]],
  [500, ["upstream_error"]],
  [503, ["upstream_error"]],
];

/** Invalid answers. */
const junk: readonly [name: string, answer: Sent][] = [
  ["an HTML page", { text: "<html>Bad gateway</html>" }],
  ["nothing at all", { json: undefined, mediaType: "application/json" }],
  ["null", { json: null }],
  ["an empty object", { json: {} }],
  ["an empty list", { json: [] }],
  ["an error with status 200", { json: errorBody }],
];

/** How the plugin takes a provider that fails, tried with one fixture of a capability. */
export function errorChecks(plugin: ProviderPlugin, fixture: Fixture): Check[] {
  const { capability = "chat", request } = fixture;
  const kind = request.stream === true ? "stream" : "whole answer";
  return [
    { name: `${capability}: refusals by status (${kind})`, run: () => tryStatuses(plugin, fixture) },
    { name: `${capability}: invalid answers (${kind})`, run: () => tryJunk(plugin, fixture) },
  ];
}

async function tryStatuses(plugin: ProviderPlugin, fixture: Fixture): Promise<CheckFinding> {
  for (const [status, codes] of statuses) {
    const headers = { "retry-after": "7" };
    const json = { error: { ...errorBody.error, message: status === 401 ? `Bad key ${simulatedKey}` : message } };
    const { error, ...outcome } = await simulate(plugin, fixture, { status, json, headers });
    const misbehaviour = findMisbehaviour({ error, ...outcome });
    if (misbehaviour !== undefined) return misbehaviour;
    if (error === undefined || !codes.includes(error.code)) {
      const wrong = `after status ${status} the caller gets ${error?.code ?? "no error"}, expected ${codes.join(" or ")}`;
      return { wrong, fix: "let readError fall back on classifyRefusal(answer)" };
    }
    if (status === 429 && error.retryAfterMs !== 7000) {
      return { wrong: "retry-after is lost", fix: "give readError's error retryAfterMs(answer.headers)" };
    }
  }
  return undefined;
}

async function tryJunk(plugin: ProviderPlugin, fixture: Fixture): Promise<CheckFinding> {
  for (const [name, answer] of junk) {
    const outcome = await simulate(plugin, fixture, answer);
    const misbehaviour = findMisbehaviour(outcome);
    if (misbehaviour !== undefined) return { ...misbehaviour, wrong: `after ${name}, ${misbehaviour.wrong}` };
    if (outcome.error === undefined) {
      const fix = "check that the response has the expected fields, and classify any other with classifyError(answer)";
      return { wrong: `${name} is treated as an answer`, fix };
    }
  }
  return undefined;
}
