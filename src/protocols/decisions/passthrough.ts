import { isRecord } from "../../lib/json.ts";
import {
  type Call,
  type NativeAnswer,
  type NativeRequest,
  type PassthroughFormat,
  scalarsOf,
} from "../../provider/index.ts";
import { type RequestOptions, resolveOptions, toBody } from "../openai/request.ts";
import { readResponsesUsage } from "../responses/passthrough.ts";
import { classifyError } from "../upstream-errors.ts";
import { DecisionRequest } from "./schema.ts";

/**
 * Passes decisions on to a provider that has the endpoint itself. They are charged by the tier `decisions` in the price
 * of a row: OpenAI charges only the input.
 */
export function decisionsHandler(defaults: RequestOptions) {
  return async ({ request, model, upstream, warn }: Call<NativeRequest>): Promise<NativeAnswer> => {
    const body = toBody({ request: request.body, model, warn }, resolveOptions(defaults, model));
    const content = await upstream.json<Record<string, unknown>>("/decisions", body);
    return { content, readUsage: readResponsesUsage };
  };
}

/** Decisions as the kernel passes their bodies and answers through. No field of a request bounds the answer. */
export const decisionsFormat: PassthroughFormat = {
  protocol: "decisions",
  prompt: {
    list: "input",
    scalars: scalarsOf(DecisionRequest.properties),
    parts: { input_text: "text", input_json: "text", output_text: "text", refusal: "text", input_image: "image" },
    partsMembers: new Set(["content", "output"]),
    files: "part",
  },
  // The models that an endpoint takes are those that have its price.
  serves: ({ price }) => price?.serviceTiers?.decisions !== undefined,
  reasoningOf: () => undefined,
  tierOf: () => "decisions",
  servedTierOf: ({ answers }) => (Array.isArray(answers) ? "decisions" : undefined),
  searchLimitOf: () => 0,
  isSearchBounded: () => true,
  hasOnlySearches: () => false,
  withSearchLimit: (body) => body,
  countSearches: () => 0,
  shortensPrompt: () => false,
  readError: (body) => classifyError(body),
  isPrelude: () => false,
  isLast: () => false,
  isAnswer: ({ answers }) => Array.isArray(answers),
  headOf: () => undefined,
  errorOf: (part) => (isRecord(part.error) ? classifyError(part) : undefined),
  // Decisions cost nothing but their input.
  readOutput: () => undefined,
  finishReasonOf: ({ answers }) => (Array.isArray(answers) ? "stop" : undefined),
};
