import {
  type Call,
  type ChatUsage,
  type Handlers,
  type NativeAnswer,
  type NativeRequest,
  type PassthroughFormat,
  scalarsOf,
} from "../../contract/index.ts";
import { isRecord, mapChanged } from "../../lib/json.ts";
import { type ResponsesOptions, resolveOptions } from "../openai/options.ts";
import { toBody } from "../openai/request.ts";
import { classifyError, classifyResponseFailure } from "../upstream-errors.ts";
import { ResponsesRequest } from "./schema.ts";

/**
 * Tools that the client runs, or that cost nothing beside the tokens that are counted. The others (searches, containers,
 * pictures, servers of others) have prices of their own, which no row covers.
 */
const freeTools = new Set(
  "function custom namespace tool_search local_shell apply_patch computer computer_use_preview".split(" "),
);
/** The fields of a request to compact. */
const compactFields = new Set("model input instructions prompt_cache_key prompt_cache_retention".split(" "));
const encryptedThoughts = "reasoning.encrypted_content";

type NativeResponses = Pick<Handlers, "responses" | "compactResponse" | "countResponsesTokens">;

/** The handlers of a provider that speaks the Responses protocol itself. */
export function responsesHandlers(defaults: ResponsesOptions): NativeResponses {
  return {
    async responses(call): Promise<NativeAnswer> {
      const body = toResponsesBody(call, resolveOptions(defaults, call.model));
      const { upstream } = call;
      const path = "/responses";
      const content = body.stream === true ? await upstream.events(path, body) : await upstream.json(path, body);
      return { content: content as NativeAnswer["content"], readUsage: readResponsesUsage };
    },
    ...(defaults.compact === true && {
      async compactResponse(call): Promise<NativeAnswer> {
        const asked = toResponsesBody(call, resolveOptions(defaults, call.model));
        const body = Object.fromEntries(Object.entries(asked).filter(([field]) => compactFields.has(field)));
        const content = await call.upstream.json<Record<string, unknown>>("/responses/compact", body);
        return { content, readUsage: readResponsesUsage };
      },
    }),
    ...(defaults.inputTokens === true && {
      async countResponsesTokens(call): Promise<number> {
        const asked = toResponsesBody(call, resolveOptions(defaults, call.model));
        const { stream: _, store: __, include: ___, ...body } = asked;
        const { input_tokens } = await call.upstream.json<{ input_tokens: number }>("/responses/input_tokens", body);
        return input_tokens;
      },
    }),
  };
}

/**
 * The body to send. Nothing is stored under the operator's account, which all callers share: a model that reasons gives its
 * thoughts to the client instead, sealed.
 */
function toResponsesBody(
  { request: { body: asked }, model, warn }: Pick<Call<NativeRequest>, "request" | "model" | "warn">,
  options: ResponsesOptions,
): Record<string, unknown> {
  const pass = ["max_output_tokens", "cache_control", ...(options.pass ?? [])];
  const body = toBody({ request: asked, model, warn }, { ...options, pass });
  body.store = false;
  if (Array.isArray(body.input) && body.input.some(isLostThought)) {
    body.input = body.input.filter((item) => !isLostThought(item));
  }
  const include = Array.isArray(body.include) ? body.include : [];
  if (model.reasoning === true && !include.includes(encryptedThoughts)) body.include = [...include, encryptedThoughts];
  dropPaidTools(body, options.pass ?? [], (types) =>
    warn(`Left out the tools ${types.join(", ")}: the price of this model does not cover them`, "tools"),
  );
  return body;
}

/** A thought that the client was not given can only be had from the provider's store, which has none. */
function isLostThought(item: unknown): boolean {
  return isRecord(item) && item.type === "reasoning" && !item.encrypted_content && !item.content;
}

/** Takes the tools that cost money of their own out of a body, wherever it can bring them. */
function dropPaidTools(
  body: Record<string, unknown>,
  pass: readonly string[],
  onDrop: (types: string[]) => void,
): void {
  const dropped = new Set<string>();
  const isFree = (tool: unknown) => {
    const type = isRecord(tool) ? String(tool.type) : "";
    const isLocal = isRecord(tool) && isRecord(tool.environment) && tool.environment.type === "local";
    if (freeTools.has(type) || pass.includes(type) || (type === "shell" && isLocal)) return true;
    dropped.add(type.slice(0, 64));
    return false;
  };
  const clean = <Holder>(holder: Holder): Holder => {
    if (!isRecord(holder) || !Array.isArray(holder.tools)) return holder;
    const given: unknown[] = holder.tools;
    const tools = given.filter(isFree).map(clean);
    const isSame = tools.length === given.length && tools.every((tool, place) => tool === given[place]);
    return isSame ? holder : { ...holder, tools };
  };
  body.tools = clean(body).tools;
  if (!Array.isArray(body.tools) || body.tools.length === 0) delete body.tools;
  if (Array.isArray(body.input)) body.input = mapChanged(body.input, clean);
  const { tool_choice: choice } = body;
  if (isRecord(choice)) {
    const left = clean(choice);
    if (left !== choice && Array.isArray(left.tools) && left.tools.length > 0) body.tool_choice = left;
    else if (left !== choice || (choice.type !== "allowed_tools" && !isFree(choice))) delete body.tool_choice;
  }
  if (dropped.size > 0) onDrop([...dropped]);
}

/** The usage of a response: the whole answer, or the one in an event. */
export function readResponsesUsage(part: Record<string, unknown>): ChatUsage | undefined {
  const { usage } = isRecord(part.response) ? part.response : part;
  if (!isRecord(usage)) return undefined;
  const { input_tokens: input, output_tokens: output } = usage;
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  const [inputDetails, outputDetails] = [usage.input_tokens_details, usage.output_tokens_details];
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(isRecord(inputDetails) && { prompt_tokens_details: inputDetails }),
    ...(isRecord(outputDetails) && { completion_tokens_details: outputDetails }),
  };
}

/** What the kernel has to know of the Responses protocol to pass its bodies and events through. */
export const responsesFormat: PassthroughFormat = {
  protocol: "responses",
  countHandler: "countResponsesTokens",
  prompt: {
    list: "input",
    scalars: scalarsOf(ResponsesRequest.properties),
    parts: {
      text: "text",
      input_text: "text",
      output_text: "text",
      refusal: "text",
      summary_text: "text",
      reasoning_text: "text",
      input_image: "image",
      computer_screenshot: "image",
      input_audio: "audio",
      input_file: "file",
    },
    partsMembers: new Set(["content", "output"]),
    // Others may refer to what the provider keeps.
    items: new Set([
      undefined,
      null,
      "message",
      "function_call",
      "function_call_output",
      "custom_tool_call",
      "custom_tool_call_output",
      "tool_search_call",
      "tool_search_output",
      "additional_tools",
      "reasoning",
      "compaction",
      "computer_call",
      "computer_call_output",
      "local_shell_call",
      "local_shell_call_output",
      "shell_call",
      "shell_call_output",
      "apply_patch_call",
      "apply_patch_call_output",
      "web_search_call",
    ]),
    hasSingleParts: true,
    files: "part",
  },
  isOwnHeader: () => false,
  reasoningOf: ({ reasoning }) => reasoning,
  tierOf: ({ service_tier: tier }) => tier,
  servedTierOf: ({ service_tier: tier }) => tier,
  shortensPrompt: ({ truncation }) => truncation === "auto",
  readFault: (body) => classifyError(body),
  outputLimit: "max_output_tokens",
  isPrelude: (type) => type === "response.created" || type === "response.in_progress" || type === "response.queued",
  isLast: (type) => type === "response.completed" || type === "response.incomplete",
  isAnswer: ({ output }) => Array.isArray(output),
  headOf: ({ response }) => (isRecord(response) ? response : undefined),
  faultOf(part) {
    if (part.type === "error") return classifyResponseFailure(part);
    const head = isRecord(part.response) ? part.response : part;
    const hasFailed = head.status === "failed" || isRecord(head.error);
    return hasFailed ? classifyResponseFailure({ error: head.error ?? {} }) : undefined;
  },
  textOf: ({ delta }) => delta,
  finishReasonOf(part) {
    const { status, incomplete_details: details } = isRecord(part.response) ? part.response : part;
    if (status === "completed") return "stop";
    if (status !== "incomplete") return undefined;
    return isRecord(details) && details.reason === "content_filter" ? "content_filter" : "length";
  },
};
