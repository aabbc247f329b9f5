import type { ChatRequest, Message } from "modelgate/plugin";
import { openApiSubset, reduceSchema } from "../../../../src/lib/json-schema.ts";

type Json = Record<string, unknown>;

/** What the uniform request cannot say: left out of both sides. */
const unsayable = ["topK", "cachedContent", "safetySettings"];

const others: Record<string, string> = {
  "gemini-2.5-flash-image": "asks a chat question of an image model",
  googleSearch: "uses a built-in tool of the provider",
  countTokens: "counts tokens, which we do not ask for",
};

/** Why a recorded request is not one that we would send. */
export function whyOther(request: { url: string; body?: unknown }): string | undefined {
  const text = `${request.url} ${JSON.stringify(request.body)}`;
  return Object.entries(others).find(([word]) => text.includes(word))?.[1];
}

/** A recorded request as a client would have put it. */
export function toChatRequest(recorded: Json): ChatRequest {
  const {
    systemInstruction: system,
    contents,
    tools,
    toolConfig,
    generationConfig,
  } = normalised(recorded) as never as {
    systemInstruction?: { parts: Json[] };
    contents: { role: string; parts: Json[] }[];
    tools?: { functionDeclarations: Json[] }[];
    toolConfig?: { functionCallingConfig: { mode: string } };
    generationConfig: Json;
  };
  const messages = contents.flatMap(toMessages());
  const request: Record<string, unknown> = {
    model: "any",
    messages:
      system === undefined ? messages : [{ role: "system", content: String(system.parts[0]?.text) }, ...messages],
    tools: tools?.[0]?.functionDeclarations.map((definition) => ({ type: "function", function: definition as never })),
    tool_choice: toolConfig === undefined ? undefined : "required",
    temperature: generationConfig.temperature as number | undefined,
    max_tokens: generationConfig.maxOutputTokens as number | undefined,
    stop: generationConfig.stopSequences as string[] | undefined,
    reasoning_effort: effortOf(generationConfig.thinkingConfig as Json | undefined),
    response_format: formatOf(generationConfig),
  };
  return JSON.parse(JSON.stringify(request));
}

function effortOf(thinking: Json | undefined): string | undefined {
  if (thinking?.thinkingBudget === 0) return "none";
  return thinking?.thinkingLevel as string | undefined;
}

function formatOf(config: Json): ChatRequest["response_format"] {
  const schema = config.schema as Json | undefined;
  if (schema !== undefined) return { type: "json_schema", json_schema: { name: "answer", schema } };
  return config.responseMimeType === undefined ? undefined : { type: "json_object" };
}

function toMessages(): (content: { role: string; parts: Json[] }) => Message[] {
  let calls = 0;
  let results = 0;
  return ({ role, parts }) => {
    const responses = parts.filter((part) => part.functionResponse !== undefined);
    if (responses.length > 0) {
      return responses.map(({ functionResponse }) => {
        const content = JSON.stringify((functionResponse as Json).response);
        return { role: "tool", tool_call_id: `id-${results++}`, content };
      });
    }
    if (role === "user") return [{ role: "user", content: parts.map(toPart) as never }];
    const toolCalls = parts.map((part) => {
      const { name, args } = part.functionCall as { name: string; args: Json };
      const extra = { extra_content: { google: { thought_signature: part.thoughtSignature } } };
      const call = {
        id: `id-${calls++}`,
        type: "function" as const,
        function: { name, arguments: JSON.stringify(args) },
      };
      return { ...call, ...extra };
    });
    return [{ role: "assistant", content: null, tool_calls: toolCalls }];
  };
}

function toPart({ text, inlineData }: Json): Json {
  if (inlineData === undefined) return { type: "text", text };
  const { mimeType, data } = inlineData as Json;
  return { type: "image_url", image_url: { url: `data:${mimeType};base64,${data}` } };
}

/** One way of writing for bodies that mean the same: camel case, lower-case types, nothing that says the default. */
export function normalised(body: Json): Json {
  const { generationConfig: config = {}, systemInstruction: system, ...rest } = camel(body) as Json;
  const { topP, responseModalities: _, responseSchema, responseJsonSchema, ...options } = config as Json;
  const schema = responseSchema ?? responseJsonSchema;
  const result: Json = {
    ...rest,
    ...(system !== undefined && { systemInstruction: { parts: (system as Json).parts } }),
    generationConfig: {
      ...options,
      ...(topP !== undefined && topP !== 1 && { topP }),
      ...(schema !== undefined && { schema: reduceSchema(schema, openApiSubset).schema }),
    },
  };
  for (const field of unsayable) {
    delete result[field];
    delete (result.generationConfig as Json)[field];
  }
  const thinking = (result.generationConfig as Json).thinkingConfig as Json | undefined;
  if (thinking?.thinkingLevel === undefined && thinking?.includeThoughts === true) {
    // Thoughts without an effort: the uniform request has no word for it.
    delete (result.generationConfig as Json).thinkingConfig;
  }
  return result;
}

function camel(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => camel(item));
  if (typeof value !== "object" || value === null) return name === "mode" ? String(value).toUpperCase() : value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    const known = key.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
    if (/^parameters/.test(known)) return ["parameters", reduceSchema(inner, openApiSubset).schema];
    if (/schema$/i.test(known) || known === "args" || known === "response") return [known, inner];
    // A recording labels a PNG as a JPEG, and the gateway believes the bytes.
    const isPng = known === "inlineData" && String((inner as Json).data).startsWith("iVBORw0KGgo");
    if (isPng) return [known, { ...(camel(inner) as Json), mimeType: "image/png" }];
    return [known, camel(inner, known)];
  });
  const isEmptySchema = ([key, inner]: [string, unknown]) =>
    key === "parameters" && Object.keys(((inner as Json).properties as object | undefined) ?? {}).length === 0;
  return Object.fromEntries(entries.filter((entry) => !isEmptySchema(entry)));
}
