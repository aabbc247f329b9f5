import {
  type Call,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ContentPart,
  classifyError,
  definePlugin,
  type FinishReason,
  isRecord,
  parseJson,
  pickSupportedFields,
  readArguments,
  readModels,
  type ServerEvent,
  UpstreamFault,
} from "modelgate/plugin";
import catalogue from "./catalogue.json" with { type: "json" };

/**
 * A provider with a wire format of its own, made up for this example:
 *
 *   POST /generate   { "model", "turns": [{ "who", "says" | "uses" | "got" }], "tools", "limits", "live" }
 *   answers          { "said", "uses": [{ "id", "tool", "with" }], "why", "spent": { "in", "out" } }
 *   or, when live    the events  piece { "said" } · use { "id", "tool", "with" } · end { "why", "spent" } · error { … }
 *
 * Replace toBody, fromAnswer and fromEvents by yours, and the fixtures by true answers (modelgate plugin record).
 * Its key comes from GAMMA_API_KEY.
 */
export default definePlugin({
  name: "gamma", // the folder's name
  baseUrl: "https://api.gamma.example/v1",
  authorize: (key) => ({ "x-api-key": key }),
  models: readModels(catalogue),
  handlers: { chat },
  maxChoices: { chat: 1 }, // the gateway asks several times when a caller wants more choices
});

/** One call: translate, ask, translate back. Ids, model names, usage, retries and deadlines are the gateway's. */
async function chat(call: Call<ChatRequest>): Promise<ChatCompletion | AsyncIterable<ChatChunk>> {
  const body = toBody(call);
  if (call.request.stream === true) return fromEvents(await call.upstream.events("/generate", body));
  return fromAnswer(await call.upstream.json("/generate", body));
}

/** The request as the provider wants it. What it cannot be told is left out, with a warning in the log. */
function toBody({ request, model, warn }: Call<ChatRequest>) {
  const known = ["max_tokens", "max_completion_tokens", "temperature", "stop", "tools"];
  const asked = pickSupportedFields(request, known, model, warn);
  const tools = asked.tools?.map((tool) => ({ name: tool.function.name, takes: tool.function.parameters ?? {} }));
  return {
    model: model.upstreamId,
    turns: request.messages.flatMap(toTurns),
    ...(tools && { tools }),
    limits: { out: asked.max_completion_tokens ?? asked.max_tokens, warmth: asked.temperature, until: asked.stop },
    live: request.stream === true,
  };
}

function toTurns(message: ChatRequest["messages"][number]): object[] {
  if (message.role === "tool") return [{ who: "tool", id: message.tool_call_id, got: textOf(message.content) }];
  const who = message.role === "assistant" ? "model" : message.role === "user" ? "person" : "rule";
  const said = textOf(message.content);
  const uses = (message.tool_calls ?? []).map((call) => ({
    who,
    uses: { id: call.id, tool: call.function.name, with: readArguments(call, "messages") },
  }));
  return said === "" ? uses : [{ who, says: said }, ...uses];
}

function textOf(content: string | ContentPart[] | null | undefined): string {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The answer in the uniform shape. Check what you use: the provider may send anything. */
function fromAnswer(answer: unknown): ChatCompletion {
  if (!isRecord(answer) || typeof answer.why !== "string") throw classifyError(answer);
  const calls = Array.isArray(answer.uses) ? answer.uses.map(toCall) : [];
  const message = {
    role: "assistant" as const,
    content: typeof answer.said === "string" ? answer.said : null,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return {
    id: "", // the gateway writes id, created and model
    object: "chat.completion",
    created: 0,
    model: "",
    choices: [{ index: 0, message, finish_reason: toReason(answer.why) }],
    ...toUsage(answer.spent),
  };
}

/** The stream in uniform chunks. One that ends before the provider said so is broken, never whole. */
async function* fromEvents(events: AsyncIterable<ServerEvent>): AsyncGenerator<ChatChunk> {
  let index = 0;
  for await (const { event, data } of events) {
    const piece = parseJson(data);
    if (event === "error" || !isRecord(piece)) throw classifyError(piece ?? data);
    if (event === "piece" && typeof piece.said === "string") yield chunkOf({ content: piece.said });
    else if (event === "use") yield chunkOf({ tool_calls: [{ index: index++, ...toCall(piece) }] });
    else if (event === "end" && typeof piece.why === "string") {
      yield { choices: [{ index: 0, delta: {}, finish_reason: toReason(piece.why) }], ...toUsage(piece.spent) };
      return;
    } else if (event !== "piece") throw classifyError(piece);
  }
  throw new UpstreamFault("bad_response", "The provider's stream ended before its answer did");
}

function chunkOf(delta: ChatChunk["choices"][number]["delta"]): ChatChunk {
  return { choices: [{ index: 0, delta }] };
}

function toCall(use: unknown) {
  if (!isRecord(use) || typeof use.id !== "string" || typeof use.tool !== "string") throw classifyError(use);
  const call = { name: use.tool, arguments: JSON.stringify(use.with ?? {}) };
  return { id: use.id, type: "function" as const, function: call };
}

function toReason(why: string): FinishReason {
  if (why === "full") return "length";
  if (why === "tool") return "tool_calls";
  return why === "unsafe" ? "content_filter" : "stop";
}

/** Usage as the provider reports it. Unknown is left out, never 0: the gateway then counts by itself. */
function toUsage(spent: unknown): Pick<ChatCompletion, "usage"> {
  if (!isRecord(spent) || typeof spent.in !== "number" || typeof spent.out !== "number") return {};
  return { usage: { prompt_tokens: spent.in, completion_tokens: spent.out } };
}
