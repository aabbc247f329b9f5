import type { Call, ChatRequest, Handlers } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { type ChatOptions, resolveOptions } from "../openai/options.ts";
import { warnOfTier } from "../openai/priced-fields.ts";
import { getStops, stopChunks, stopCompletion } from "../openai/stop.ts";
import { withFunctionsAsTools } from "../tools.ts";
import { outputTokensMin, toResponsesRequest } from "./outbound.ts";
import { fromResponse, fromResponseEvents } from "./outbound-stream.ts";

const path = "/responses";

/**
 * A chat handler that asks for the models by the Responses protocol whose rows have that endpoint, and where the provider has
 * both for the reasoning that chat does not do.
 */
export function withResponsesEndpoint(
  chat: NonNullable<Handlers["chat"]>,
  defaults: ChatOptions,
  hasBoth: boolean,
): typeof chat {
  const chatByResponses = withFunctionsAsTools((call) => ask(call, resolveOptions(defaults, call.model)));
  return (call) => {
    const isByResponses =
      call.model.endpoint === "responses" ||
      (hasBoth && wantsMoreThanChat(call.request, resolveOptions(defaults, call.model)));
    return isByResponses ? chatByResponses(call) : chat(call);
  };
}

/**
 * Whether reasoning is asked for that the model does not do beside tools in chat. What only chat takes, which is several
 * choices in one request, sound and a very short answer, stays there.
 */
function wantsMoreThanChat(request: ChatRequest, { toolEfforts }: ChatOptions): boolean {
  const { tools, functions, reasoning_effort: effort, n, messages } = request;
  if (toolEfforts === undefined || typeof effort !== "string" || toolEfforts.includes(effort)) return false;
  if (!tools?.length && !functions?.length) return false;
  const limit = request.max_completion_tokens ?? request.max_tokens;
  if ((n ?? 1) > 1 || (typeof limit === "number" && limit < outputTokensMin)) return false;
  return !messages.some(({ content }) => Array.isArray(content) && content.some(({ type }) => type === "input_audio"));
}

/** A count of the tokens of a chat request, by the count of the Responses protocol. */
export function countChatTokens(defaults: ChatOptions): NonNullable<Handlers["countChatTokens"]> {
  return async ({ request, model, upstream }) => {
    const call = { request, model, warn: () => undefined };
    const { input, tools, tool_choice, text, reasoning } = toResponsesRequest(call, resolveOptions(defaults, model));
    const body = { model: model.upstreamId, input, tools, tool_choice, text, reasoning };
    return (await upstream.json<{ input_tokens: number }>("/responses/input_tokens", body)).input_tokens;
  };
}

/** The protocol has no `stop`, and takes tools beside any effort. */
async function ask(call: Call<ChatRequest>, defaults: ChatOptions) {
  const { toolEfforts: _, toolEffortDefault: __, ...taken } = defaults;
  const options: ChatOptions = { ...taken, omit: [...(taken.omit ?? []), "stop"] };
  const stops = getStops(call.request, options);
  const asked = stops.length === 0 ? call : { ...call, request: { ...call.request, stop: null } };
  const body = toResponsesRequest(asked, options);
  const onTier = (tier: unknown) => warnOfTier(tier, call, options);
  if (body.stream === true) {
    const chunks = fromResponseEvents(await call.upstream.events(path, body), onTier);
    return stops.length === 0 ? chunks : stopChunks(chunks, stops);
  }
  const answer = await call.upstream.json(path, body);
  onTier(isRecord(answer) ? answer.service_tier : undefined);
  return stopCompletion(fromResponse(answer), stops);
}
