import { createHash } from "node:crypto";
import { type ChatRequest, quoteValue, type ResponseFormat } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { cacheMark } from "./blocks.ts";
import { toConversation } from "./conversation.ts";
import { invalid, refuseOtherProtocols } from "./faults.ts";
import type { MessagesRequest } from "./schema.ts";
import type { ThoughtSigner } from "./thoughts.ts";
import { ToolNames, toTools } from "./tools.ts";

export interface TranslationOptions {
  signer: ThoughtSigner;
  /** The id of the model; default the name in the request. */
  model?: string | undefined;
  /** The most that the model writes. Agents ask for 128 000 tokens of every model, which others refuse. */
  outputTokensMax?: number | undefined;
  /** Takes what the translation had to leave out. */
  warn(sentence: string): void;
}

/** How the answer to a translated request is to be written. */
export interface MessagesPlan {
  readonly signer: ThoughtSigner;
  readonly names: ToolNames;
  /** Whether the client wants to see thoughts, have them without their text, or have none. Claude's are always handed on. */
  readonly thoughts: "shown" | "omitted" | "none";
  readonly stopSequences: readonly string[];
}

/** Fields with a counterpart in a chat request, and fields that ask nothing of the model. */
const translatedFields =
  `model messages max_tokens system stream temperature top_p stop_sequences tools tool_choice thinking
  output_config output_format metadata cache_control service_tier`.split(/\s+/);
const silentFields = ["context_management", "betas", "diagnostics"];

/**
 * Translates a Messages request into the uniform format. Cache marks stay on parts, tools, calls and results as
 * `cache_control`, failed results carry `is_error`, and Claude's thoughts travel as `reasoning_details`.
 *
 * @throws {GatewayError} `invalid_request` with a path as Anthropic writes it.
 */
export function toChatRequest(
  body: MessagesRequest,
  { signer, model = body.model, outputTokensMax, warn }: TranslationOptions,
): { request: ChatRequest; plan: MessagesPlan } {
  refuseOtherProtocols(body);
  const names = new ToolNames();
  const { messages, toolChanges } = toConversation(body, { signer, model, names, warn });
  if (body.cache_control) markLast(messages, body.cache_control);
  const effort = toEffort(body);
  const { max_tokens: asked, stop_sequences: stops, temperature, top_p: topP, metadata, service_tier: tier } = body;
  if (asked < 1) throw invalid("max_tokens", "This model has no cache to fill without an answer, expected 1 or more");
  const format = toFormat(body);
  const dropped = Object.keys(body).filter((field) => {
    const isLoss = !translatedFields.includes(field) && !silentFields.includes(field);
    return isLoss && body[field as keyof MessagesRequest];
  });
  if (dropped.length > 0) warn(`Left out ${dropped.join(", ")}, which only Anthropic takes`);
  const request: ChatRequest = {
    model: body.model,
    messages,
    max_completion_tokens: outputTokensMax === undefined ? asked : Math.min(asked, outputTokensMax),
    ...(body.stream === true && { stream: true, stream_options: { include_usage: true } }),
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof topP === "number" && { top_p: topP }),
    ...(stops && stops.length > 0 && { stop: stops }),
    ...toTools(body, toolChanges, names, warn),
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(format !== undefined && { response_format: format }),
    ...(metadata?.user_id && { user: toUser(metadata.user_id) }),
    ...(tier && tier !== "auto" && { service_tier: tier === "standard_only" ? "default" : tier }),
  };
  return { request, plan: { signer, names, thoughts: toDisplay(body), stopSequences: stops ?? [] } };
}

/** A mark of the whole request stands for one on its last block. */
function markLast(messages: ChatRequest["messages"], mark: unknown): void {
  const last = messages.at(-1);
  if (last === undefined) return;
  if (last.role === "tool") Object.assign(last, { ...cacheMark({ cache_control: mark }), ...cacheMark(last) });
  else if (typeof last.content === "string") {
    last.content = [{ type: "text", text: last.content, ...cacheMark({ cache_control: mark }) }];
  } else {
    const part = last.content?.at(-1);
    if (part !== undefined) Object.assign(part, { ...cacheMark({ cache_control: mark }), ...cacheMark(part) });
  }
}

const efforts = ["low", "medium", "high", "xhigh", "max"];
const budgets: [effort: string, tokens: number][] = [
  ["low", 2048],
  ["medium", 8192],
  ["high", 24_576],
];

/** The effort asked for, or the one whose thoughts are about as long as the budget. */
function toEffort({ thinking, output_config: config }: MessagesRequest): ChatRequest["reasoning_effort"] {
  const asked = config?.effort;
  if (thinking?.type === "disabled") return "none";
  if (typeof asked === "string") {
    if (efforts.includes(asked)) return asked;
    throw invalid("output_config.effort", `got ${quoteValue(asked)}, expected one of ${efforts.join(", ")}`);
  }
  if (thinking === undefined || thinking === null) return undefined;
  // Anthropic's own default where thinking is on.
  if (thinking.type !== "enabled") return "high";
  const budget = thinking.budget_tokens;
  if (typeof budget !== "number") throw invalid("thinking.budget_tokens", "expected a number of tokens");
  return effortOfBudget(budget);
}

/** The effort whose thoughts are about as long as a budget of tokens. */
export function effortOfBudget(budget: number): string {
  const distance = (tokens: number) => Math.abs(tokens - budget);
  return budgets.reduce((nearest, next) => (distance(next[1]) < distance(nearest[1]) ? next : nearest))[0];
}

/** A client that did not ask for thoughts reads the first block as text. */
function toDisplay({ thinking, output_config: config }: MessagesRequest): MessagesPlan["thoughts"] {
  if (thinking?.type === "disabled") return "none";
  if (thinking === undefined || thinking === null) return config?.effort ? "shown" : "none";
  return thinking.display === "omitted" ? "omitted" : "shown";
}

function toFormat(body: MessagesRequest & { output_format?: unknown }): ResponseFormat | undefined {
  const { output_config: config, output_format: older } = body;
  const format = config?.format ?? older;
  if (!isRecord(format)) return undefined;
  const path = config?.format ? "output_config.format" : "output_format";
  const { type, schema } = format;
  if (type !== "json_schema") throw invalid(`${path}.type`, `got ${quoteValue(type)}, expected json_schema`);
  if (!isRecord(schema)) throw invalid(`${path}.schema`, "expected a JSON schema");
  const strict = isClosed(schema) ? { strict: true } : {};
  return { type: "json_schema", json_schema: { name: "answer", schema, ...strict } };
}

/** Whether every object of a schema names all its members and takes no others, as OpenAI's strict mode demands. */
function isClosed(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed);
  if (!isRecord(schema)) return true;
  const { properties, required, additionalProperties: others } = schema;
  if (isRecord(properties) || schema.type === "object") {
    const members = isRecord(properties) ? Object.keys(properties) : [];
    if (others !== false || !Array.isArray(required)) return false;
    const names = new Set(required);
    if (!members.every((name) => names.has(name))) return false;
  }
  return Object.values(schema).every(isClosed);
}

/** OpenAI takes up to 64 characters. Claude Code's identifier is longer, and only has to stay the same. */
function toUser(id: string): string {
  return id.length <= 64 ? id : createHash("sha256").update(id).digest("hex");
}
