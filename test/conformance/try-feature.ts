import { isDeepStrictEqual } from "node:util";
import type { Capability } from "../../src/contract/index.ts";
import type { ExchangeRequest } from "../../src/kernel/call.ts";
import type { ChatCompletion, Model, ProviderPlugin } from "../../src/provider/index.ts";
import { cannedReply } from "./canned.ts";
import { type Feature, plainRequests } from "./features.ts";
import { type Outcome, serveBy } from "./fixture.ts";

/**
 * What becomes of a feature on its way to a provider: `yes`, it gets there; `here`, the gateway does it in the
 * provider's place; `left out`, the provider is asked without it; `400`, the request is refused.
 */
export type Verdict = "yes" | "here" | "left out" | "400";

/** How a model's provider is asked for a feature, found out by asking with it and without it. */
export async function tryFeature(plugin: ProviderPlugin, model: Model, feature: Feature): Promise<Verdict> {
  const { capability, asks, beside = {} } = feature;
  const plain = { ...plainRequests[capability], ...beside, model: model.id };
  const request = "voice" in asks ? { ...plain, voice: model.voices?.at(-1) } : { ...plain, ...asks };
  const without = await ask(plugin, model, capability, plain);
  const given = await ask(plugin, model, capability, request);
  if (given.error !== undefined) {
    if (given.error.status === 400) return "400";
    throw new Error(`${plugin.name} failed at ${feature.name}: ${given.error.message}`, { cause: given.error });
  }
  if (Object.keys(asks).length === 0) return "yes";
  const hasOwnWay = given.notes.some((note) => note.includes("to the prompt"));
  if (given.sent.length > without.sent.length || hasOwnWay || isAskedWhole(request, given)) return "here";
  if (!isDeepStrictEqual(given.sent.map(bodyOf), without.sent.map(bodyOf))) return "yes";
  // Times are asked for in every transcription; the client gets what of the answer it wants.
  if (capability === "transcription" && given.notes.length === without.notes.length) return "yes";
  return isDeepStrictEqual(shapeOf(given.answer), shapeOf(without.answer)) ? "left out" : "here";
}

type CheckInput = Awaited<ReturnType<typeof ask>>;

function ask(plugin: ProviderPlugin, model: Model, capability: Capability, request: Record<string, unknown>) {
  // Parts of a moderation are one input.
  const inputs = Array.isArray(request.input) ? request.input : [request.input];
  const count = typeof inputs[0] === "object" && !Array.isArray(inputs[0]) ? 1 : inputs.length;
  const reply = cannedReply(plugin.name, capability, {
    stream: (request.stream === true && !isWhole(plugin, request)) || model.options?.events === true,
    count,
    isClaude: model.upstreamId.startsWith("claude") && plugin.name !== "bedrock",
  });
  const only = { ...plugin, models: [model] };
  return serveBy(
    only,
    { capability, request: request as unknown as ExchangeRequest<typeof capability> },
    reply,
  ) as Promise<Outcome<unknown>>;
}

/** Groq streams no answer that is held to a schema. */
function isWhole({ name }: ProviderPlugin, { response_format: format }: Record<string, unknown>): boolean {
  return name === "groq" && (format as { type?: string } | undefined)?.type === "json_schema";
}

const bodyOf = ({ url, json }: CheckInput["sent"][number]) => ({ url, ...json });

function isAskedWhole({ stream }: Record<string, unknown>, { sent }: CheckInput): boolean {
  const asksForStream = sent.some(({ url, json }) => json.stream === true || url.includes("stream"));
  return stream === true && !asksForStream;
}

/** What of an answer tells that the gateway had a hand in it. */
function shapeOf(answer: unknown): unknown {
  const { choices, data } = (answer ?? {}) as Partial<ChatCompletion> & { data?: { embedding: unknown }[] };
  return [choices?.map(({ message }) => message.tool_calls?.length), data?.map(({ embedding }) => typeof embedding)];
}
