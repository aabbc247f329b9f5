import type { Recording } from "../../support/recordings.ts";

type Json = Record<string, unknown>;

const plainChat = { messages: [{ role: "user", content: "Hello" }] };

/** The body a client sends to get the recorded answer, and whether it is the recorded request itself. */
export function requestOf(recording: Recording, endpoint: string): { body?: Json; faithful: boolean } {
  const { request, provider, status } = recording;
  const recorded = request?.body ?? undefined;
  const isOpenAi = !["anthropic", "gemini"].includes(provider) && request?.url.endsWith(endpoint) === true;
  switch (endpoint) {
    case "/audio/transcriptions":
      return { faithful: false };
    case "/audio/speech":
      return { body: { input: recorded?.input ?? recorded?.text ?? "Hello" }, faithful: false };
    case "/images/generations":
      return { body: { prompt: "An axolotl" }, faithful: false };
    case "/embeddings":
      if (provider === "gemini") return { body: embedBody(recorded), faithful: false };
      return isOpenAi && status === 200
        ? { body: { ...recorded }, faithful: true }
        : { body: { input: "Hello" }, faithful: false };
  }
  if (isOpenAi) return { body: { ...recorded }, faithful: true };
  return { body: { ...plainChat, ...toolsOf(recorded), ...schemaOf(recorded) }, faithful: false };
}

const png = "data:image/png;base64,iVBORw0KGgo=";

/** Pictures by address as bytes: a provider that replays is a server of one's own, which the gateway sends no address. */
export function withBytes(body: Json): Json {
  return JSON.parse(JSON.stringify(body).replaceAll(/"url":"https?:[^"]*"/g, `"url":"${png}"`)) as Json;
}

/** One input a recorded request of a batch, of the recorded size. */
function embedBody(recorded: Json | undefined): Json {
  const requests = (recorded?.requests ?? []) as {
    content: { parts: { text: string }[] };
    outputDimensionality?: number;
  }[];
  const dimensions = requests[0]?.outputDimensionality;
  const input = requests.map(({ content }) => content.parts.map(({ text }) => text).join(""));
  return { input, ...(dimensions === undefined ? {} : { dimensions }) };
}

/** The recorded tools by their names, whichever way the provider writes them: what an answer may call. */
function toolsOf(recorded: Json | undefined): Json {
  const names: string[] = [];
  for (const tool of (recorded?.tools ?? []) as Json[]) {
    if (typeof tool.name === "string") names.push(tool.name);
    const declared = (tool.functionDeclarations ?? tool.function_declarations ?? []) as { name: string }[];
    names.push(...declared.map(({ name }) => name));
  }
  if (names.length === 0) return {};
  return {
    tools: names.map((name) => ({
      type: "function",
      function: { name, parameters: { type: "object", properties: {} } },
    })),
  };
}

/** Anthropic's structured output, asked for as OpenAI's clients do. */
function schemaOf(recorded: Json | undefined): Json {
  const { format } = (recorded?.output_config ?? {}) as { format?: Json };
  const { schema } = (format ?? recorded?.output_format ?? {}) as { schema?: Json };
  if (schema === undefined) return {};
  return { response_format: { type: "json_schema", json_schema: { name: "answer", schema } } };
}
