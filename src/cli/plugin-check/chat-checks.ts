import { parseJson } from "../../lib/json.ts";
import type { ProviderPlugin } from "../../provider/index.ts";
import { type CheckFinding, findMisbehaviour } from "./findings.ts";
import type { Fixture } from "./fixture.ts";
import { type Outcome, readReply, type Sent, simulate, toBytes } from "./simulate.ts";

/** One row of the table: what is looked at, and how. */
export interface Check {
  readonly name: string;
  run(): Promise<CheckFinding>;
}

const anywhere =
  "buffer an incomplete event until the rest arrives; call.upstream.events does so for server-sent events";
const broken = 'throw new UpstreamError("bad_response", …) when the stream ends before the provider reported its end';

/** Checks that chat fixtures with a good answer must pass in addition to the answer itself. */
export function chatChecks(plugin: ProviderPlugin, fixtures: readonly Fixture[]): Check[] {
  const good = fixtures.filter(({ expect }) => expect?.error === undefined);
  const whole = good.find(({ request }) => request.stream !== true);
  const stream = good.find(({ request }) => request.stream === true);
  const calling = good.filter(({ expect }) => expect?.toolCalls !== undefined);
  const checks: Check[] = [
    {
      name: "chat: a whole answer, a stream and a tool call have fixtures",
      run: async () => findMissing(plugin, { whole, stream, calling: calling[0] }),
    },
  ];
  if (whole !== undefined) {
    checks.push(
      { name: "chat: fields that are null are treated as absent", run: () => tryNulls(plugin, whole) },
      { name: "chat: a conversation with tool results is translated", run: () => tryConversation(plugin, whole) },
      { name: "chat: an answer without usage is counted, not free", run: () => tryWithoutUsage(plugin, whole) },
    );
  }
  if (stream !== undefined) {
    checks.push(
      { name: "chat: a stream has the same content however its bytes arrive", run: () => tryBytewise(plugin, stream) },
      { name: "chat: a stream that breaks off is an error", run: () => tryCuts(plugin, stream) },
      { name: "chat: a stream without usage is counted, not free", run: () => tryWithoutUsage(plugin, stream) },
    );
  }
  return checks;
}

function findMissing(
  plugin: ProviderPlugin,
  fixtures: { whole: Fixture | undefined; stream: Fixture | undefined; calling: Fixture | undefined },
): CheckFinding {
  const noTools = plugin.models.every(({ capability, omit }) => capability !== "chat" || omit?.includes("tools"));
  const missing = [
    fixtures.whole === undefined ? "a whole answer" : "",
    fixtures.stream === undefined ? 'a stream ("stream": true)' : "",
    fixtures.calling === undefined && !noTools ? 'a tool call ("expect": { "toolCalls": … })' : "",
  ].filter((text) => text !== "");
  if (missing.length === 0) return undefined;
  const fix = `write one into fixtures/, or try modelgate plugin record${fixtures.calling === undefined ? '; a model without tools has "omit": ["tools"] in its row' : ""}`;
  return { wrong: `no fixture shows ${missing.join(", ")}`, fix };
}

async function tryNulls(plugin: ProviderPlugin, fixture: Fixture): Promise<CheckFinding> {
  const nulls = { stop: null, tools: null, seed: null, max_tokens: null, response_format: null, logprobs: null };
  const outcome = await simulate(plugin, { ...fixture, request: { ...nulls, ...fixture.request } }, fixture.reply);
  return findFailure(outcome, "treat null as absent: read fields with ?? or by pickSupportedFields(…)");
}

async function tryConversation(plugin: ProviderPlugin, fixture: Fixture): Promise<CheckFinding> {
  const call = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } };
  const ask = (result: object) => {
    const messages = [
      { role: "system", content: "Be brief" },
      { role: "user", content: [{ type: "text", text: "And in Paris?" }] },
      { role: "assistant", content: null, tool_calls: [call] },
      result,
    ];
    return simulate(plugin, { ...fixture, request: { ...fixture.request, messages } }, fixture.reply);
  };
  const outcome = await ask({ role: "tool", tool_call_id: "call_1", content: "mild" });
  if (outcome.error?.code === "invalid_request") return undefined;
  const failure = findFailure(
    outcome,
    "translate every role and both forms of content, or throw badRequest(…) for content that cannot be translated",
  );
  if (failure !== undefined) return failure;
  const body = JSON.stringify(outcome.requests.at(-1)?.body);
  for (const role of ["user", "system"]) {
    if (JSON.stringify((await ask({ role, content: "mild" })).requests.at(-1)?.body) !== body) continue;
    const wrong = `the result of a tool is sent as a message of the ${role}`;
    return { wrong, fix: "translate messages of the role tool, with their tool_call_id" };
  }
  return undefined;
}

/** Takes every figure of tokens out of the provider's answer: by its name, or because the fixture says it is one. */
async function tryWithoutUsage(plugin: ProviderPlugin, fixture: Fixture): Promise<CheckFinding> {
  const { promptTokens, completionTokens } = fixture.expect ?? {};
  const figures = [promptTokens, completionTokens].filter((figure) => figure !== undefined);
  const { json: whole, text: events, awsEvents } = fixture.reply;
  const json = whole === undefined ? {} : { json: withoutUsage(whole, figures) };
  const text = events === undefined ? {} : { text: eventsWithoutUsage(events, figures) };
  const binary = awsEvents && { awsEvents: awsEvents.map(([type, data]) => [type, withoutUsage(data, figures)]) };
  const outcome = await simulate(plugin, fixture, { ...fixture.reply, ...json, ...text, ...(binary as object) });
  const failure = findFailure(outcome, "leave usage out of the answer when the provider does not report it");
  if (failure !== undefined) return failure;
  const { usageSource } = outcome.settlement ?? {};
  if (usageSource === "estimated") return undefined;
  return {
    wrong: `the ledger says "${usageSource}" where the provider reported nothing`,
    fix: "leave usage out when it is unknown; never write 0 or an invented number",
  };
}

function withoutUsage(value: unknown, figures: readonly unknown[]): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutUsage(item, figures));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(
    ([name, inner]) => !/usage|tokens?$|token_?count/i.test(name) && !figures.includes(inner),
  );
  return Object.fromEntries(members.map(([name, inner]) => [name, withoutUsage(inner, figures)]));
}

/**
 * Removes usage from the text of a stream: from one JSON value, or from a JSON value in each line, which may have a
 * prefix such as `data: ` or `0:`.
 */
function eventsWithoutUsage(text: string, figures: readonly unknown[]): string {
  const strip = (json: string) => {
    const value = parseJson(json, "event");
    return value === undefined ? undefined : JSON.stringify(withoutUsage(value, figures));
  };
  const stripLine = (line: string) => {
    const start = line.search(/[{[]/);
    if (start === -1) return line;
    let end = line.length;
    while (line[end - 1] === "," || line[end - 1] === "\r") end--;
    const stripped = strip(line.slice(start, end));
    return stripped === undefined ? line : line.slice(0, start) + stripped + line.slice(end);
  };
  return strip(text) ?? text.split("\n").map(stripLine).join("\n");
}

async function tryBytewise(plugin: ProviderPlugin, fixture: Fixture): Promise<CheckFinding> {
  const once = await simulate(plugin, fixture, fixture.reply);
  const pieces: Sent["pieces"] = (body) => Array.from(body, (_, at) => body.slice(at, at + 1));
  const bytewise = await simulate(plugin, fixture, { ...fixture.reply, pieces });
  const failure = findFailure(bytewise, anywhere);
  if (failure !== undefined) return failure;
  if (JSON.stringify(readReply(once)) === JSON.stringify(readReply(bytewise))) return undefined;
  return { wrong: "it has another content when it arrives in single bytes", fix: anywhere };
}

async function tryCuts(plugin: ProviderPlugin, fixture: Fixture): Promise<CheckFinding> {
  const body = toBytes(fixture.reply);
  const text = new TextDecoder("latin1").decode(body);
  const betweenEvents = [...text.matchAll(/(?:\r?\n)+/g)].map(({ index, 0: gap }) => index + gap.length);
  const insideEvents = [0.2, 0.4, 0.6].map((share) => Math.floor(body.length * share));
  for (const end of [...betweenEvents.filter((place) => place < body.length), ...insideEvents]) {
    const outcome = await simulate(plugin, fixture, { ...fixture.reply, pieces: (bytes) => [bytes.slice(0, end)] });
    const misbehaviour = findMisbehaviour(outcome);
    if (misbehaviour !== undefined) return misbehaviour;
    const wasWhole = readReply(outcome).finishReason !== undefined && outcome.error === undefined;
    if (outcome.error === undefined && wasWhole && readReply(outcome).content !== fixture.expect?.content) {
      return { wrong: `cut after ${end} of ${body.length} bytes it is treated as a whole answer`, fix: broken };
    }
  }
  return undefined;
}

/** Why a call was not answered. */
function findFailure(outcome: Outcome, fix: string): CheckFinding {
  const misbehaviour = findMisbehaviour(outcome);
  if (misbehaviour !== undefined) return misbehaviour;
  if (outcome.error !== undefined) return { wrong: `the caller gets the error: ${outcome.error.message}`, fix };
  return undefined;
}
