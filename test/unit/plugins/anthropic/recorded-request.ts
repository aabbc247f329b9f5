import type { ChatRequest, Message } from "modelgate/plugin";

type Json = Record<string, unknown>;

const others: Record<string, string> = {
  "errors/400-effort-level-unsupported": "asks for an effort that we take down to one the model has",
  "errors/400-sampling-params-removed-2026-10-21": "is of another API version",
  "json-schema/sonnet-4.5-output-format-beta": "uses the beta's form of output_config",
  "thinking/opus-4.6-adaptive-thinking": "thinks without an effort, which the uniform request cannot say",
  "thinking/opus-5-effort-output-config": "is for a model that is not in the catalogue",
  "thinking/sonnet-4-thinking-plus-tool-use": "has a budget that no effort stands for",
};

/** Why a recorded request is not the one we would send. */
export function whyOther(path: string): string | undefined {
  return Object.entries(others).find(([name]) => path.includes(name))?.[1];
}

/** A recorded request as a client would have put it. */
export function toChatRequest(body: Json): Partial<ChatRequest> {
  const { tools, tool_choice: choice, thinking, output_config: config } = body as Record<string, Json | undefined>;
  const request: Record<string, unknown> = {
    messages: [...systemOf(body.system), ...(body.messages as Json[]).flatMap(toMessages)],
    stream: body.stream,
    temperature: body.temperature,
    stop: body.stop_sequences,
    max_tokens: body.max_tokens === 64_000 ? undefined : body.max_tokens,
    tools: (tools as Json[] | undefined)?.map(({ name, description, input_schema: parameters }) => {
      return { type: "function", function: { name, description, parameters } };
    }),
    tool_choice: choice && toChoice(choice),
    reasoning_effort: thinking && "minimal",
    response_format: config?.format && {
      type: "json_schema",
      json_schema: { name: "answer", ...(config.format as Json) },
    },
  };
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));
}

/** Both ways of writing the same made one: text as blocks, the system as text, no `false` and no empty list. */
export function normalised(body: Json): Json {
  const system = body.system as string | Json[] | undefined;
  return {
    ...body,
    stream: body.stream === true,
    ...(system !== undefined && {
      system: typeof system === "string" ? system : system.map(({ text }) => text).join("\n"),
    }),
    messages: (body.messages as Json[]).map((turn) => ({ ...turn, content: blocksOf(turn.content) })),
    ...(body.tools !== undefined && {
      tools: (body.tools as Json[]).map(({ input_schema: schema, ...tool }) => {
        return { ...tool, input_schema: { properties: {}, ...(schema as Json) } };
      }),
    }),
  };
}

function blocksOf(content: unknown): unknown {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content;
}

function systemOf(system: unknown): Json[] {
  if (system === undefined) return [];
  return [{ role: "system", content: system }];
}

function toMessages({ role, content }: Json): Message[] {
  if (typeof content === "string") return [{ role, content } as Message];
  const blocks = content as Json[];
  const results = blocks.filter(({ type }) => type === "tool_result");
  const calls = blocks.filter(({ type }) => type === "tool_use");
  const rest = blocks.filter((block) => !results.includes(block) && !calls.includes(block)).map(toPart);
  const message = {
    role,
    content: rest.length > 0 ? rest : null,
    ...(calls.length > 0 && { tool_calls: calls.map(toCall) }),
  };
  return [
    ...results.map(({ tool_use_id, content: parts }) => {
      return { role: "tool", tool_call_id: tool_use_id, content: (parts as Json[]).map(toPart) };
    }),
    ...(rest.length > 0 || calls.length > 0 ? [message] : []),
  ] as Message[];
}

function toCall({ id, name, input }: Json): Json {
  return { id, type: "function", function: { name, arguments: JSON.stringify(input) } };
}

function toPart(block: Json): Json {
  if (block.type !== "image") return block;
  const { type, url, media_type, data } = block.source as Json;
  return { type: "image_url", image_url: { url: type === "url" ? url : `data:${media_type};base64,${data}` } };
}

function toChoice({ type, name }: Json): unknown {
  if (type === "tool") return { type: "function", function: { name } };
  return type === "any" ? "required" : type;
}
