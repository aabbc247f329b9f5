import { type DialectName, type Sending, said, type WireEvent } from "./imperfect-answers.ts";

/**
 * What becomes of an answer with a deviation:
 * - `same`: the client gets all of it, once, and its usage is charged as reported
 * - `cut`: the same, told as cut (`length`)
 * - `failure`: the call fails, and what was reported is charged
 * - `elsewhere`: it is no answer; the next route serves the call, and alone is charged
 */
export type Outcome = "same" | "cut" | "failure" | "elsewhere";

type Part = "place" | "id" | "name" | "arguments" | "end" | "usage";

export interface Imperfection {
  name: string;
  /** A public report of a server that does this. */
  source: string;
  outcome: Outcome;
  dialects: readonly DialectName[];
  forms: readonly ("whole" | "stream")[];
  /** What it changes, where two changes of the same make no sense together. */
  part?: Part | readonly Part[];
  apply(sending: Sending): void;
  /** The answer goes to clients of the same protocol as it is, so that only others get it in order. */
  isTranslatedOnly?: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: the answers of every dialect.
type Loose = any;

/** Rows of a table that have this in common, unless they say otherwise. */
function rowsOf(common: Pick<Imperfection, "outcome" | "dialects" | "forms">, rows: readonly Row[]): Imperfection[] {
  return rows.map((row) => ({ ...common, ...row }));
}

const [openai, responses, anthropic, gemini, bedrock] = [
  "openai",
  "responses",
  "anthropic",
  "gemini",
  "bedrock",
] as const;
const all: readonly DialectName[] = [openai, responses, anthropic, gemini, bedrock];
const sse: readonly DialectName[] = [openai, responses, anthropic, gemini];
const both = ["whole", "stream"] as const;
const streamed = ["stream"] as const;
const whole = ["whole"] as const;

const jsonEvents = (sending: Sending) => sending.events.filter(({ data }) => typeof data === "object");
const eachChoice = (sending: Sending, change: (choice: Loose) => void) => {
  for (const { data } of jsonEvents(sending)) for (const choice of data.choices ?? []) change(choice);
  for (const choice of sending.whole.choices ?? []) change(choice);
};
/** Each piece of a call of a stream, with its number among the pieces of that call. */
const eachPiece = (sending: Sending, change: (piece: Loose, number: number) => void) => {
  const numbers = new Map<unknown, number>();
  for (const { data } of jsonEvents(sending)) {
    for (const piece of data.choices?.[0]?.delta?.tool_calls ?? []) {
      if (!places.has(piece)) places.set(piece, piece.index);
      const number = numbers.get(placeOf(piece)) ?? 0;
      numbers.set(placeOf(piece), number + 1);
      change(piece, number);
    }
  }
};
/** One of each list in turn, and what the longer has left: another deviation may have added or taken away events of one. */
function alternate(one: readonly WireEvent[], other: readonly WireEvent[]): WireEvent[] {
  const length = Math.max(one.length, other.length);
  return Array.from({ length }, (_, index) => [
    ...one.slice(index, index + 1),
    ...other.slice(index, index + 1),
  ]).flat();
}

/** The pieces of the calls, one of each in turn. Another deviation may have put events between them. */
function interleave(sending: Sending): void {
  const isPiece = ({ data }: WireEvent) =>
    Boolean(data.choices?.[0]?.delta?.tool_calls) && !data.choices[0].finish_reason;
  const pieces = sending.events.filter(isPiece);
  const at = sending.events.findIndex(isPiece);
  const half = pieces.length / 2;
  const mixed = alternate(pieces.slice(0, half), pieces.slice(half));
  sending.events = sending.events.filter((event) => !isPiece(event));
  if (at >= 0) sending.events.splice(at, 0, ...mixed);
}

/** The places of the calls, whatever became of their indexes. */
const places = new WeakMap<object, 0 | 1>();
const placeOf = (piece: Loose) => places.get(piece) as 0 | 1;
const callName = (piece: Loose) => said.calls[placeOf(piece)].name;
const callId = (piece: Loose) => `call_${"ab"[placeOf(piece)]}`;
const lastOf = (sending: Sending) =>
  jsonEvents(sending).find(({ data }) => data.choices?.[0]?.finish_reason)?.data.choices[0];
/** Each report of usage, in its place. */
const eachUsage = (sending: Sending, change: (usage: Loose) => void) => {
  const visit = (value: Loose) => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      if (name === "usage" || name === "usageMetadata") {
        if (member) change(member);
      } else visit(member);
    }
  };
  for (const event of jsonEvents(sending)) visit(event.data);
  visit(sending.whole);
};
const wholeCalls = ({ whole }: Sending): Loose[] => whole.choices?.[0]?.message.tool_calls ?? [];
const drop = (sending: Sending, isDropped: (data: Loose, index: number) => boolean) => {
  sending.events = sending.events.filter(({ data }, index) => !isDropped(data, index));
};
const asText =
  (text: string, contentType = "application/json") =>
  (sending: Sending) => {
    sending.body = text;
    sending.contentType = contentType;
  };
const asJson = (value: unknown) => asText(JSON.stringify(value));

type Row = Omit<Imperfection, "outcome" | "dialects" | "forms"> & Partial<Imperfection>;

const identity: Imperfection[] = rowsOf({ outcome: "same", dialects: [openai], forms: streamed }, [
  {
    name: "the name of a call in each of its pieces",
    part: "name",
    source: "NousResearch/hermes-agent#11984",
    apply: (sending) =>
      eachPiece(sending, (piece) => {
        piece.function.name = callName(piece);
      }),
  },
  {
    name: "name and id of a call in each of its pieces",
    part: "name",
    source: "mcowger/plexus#691",
    apply: (sending) =>
      eachPiece(sending, (piece) => {
        piece.id = callId(piece);
        piece.function.name = callName(piece);
      }),
  },
  {
    name: "another id of a call after its first piece",
    part: "id",
    source: "poolsideai/pool#9",
    apply: (sending) =>
      eachPiece(sending, (piece, number) => {
        if (number > 0) piece.id = `${callId(piece)}x`;
      }),
  },
  {
    name: "a new id in each piece of a call",
    part: "id",
    source: "BerriAI/litellm#28223",
    apply: (sending) =>
      eachPiece(sending, (piece, number) => {
        if (number > 0) piece.id = `${callId(piece)}${number}`;
      }),
  },
  {
    name: "pieces of calls without an index",
    part: "place",
    source: "ollama/ollama#7881",
    apply: (sending) => eachPiece(sending, (piece) => void delete piece.index),
  },
  {
    name: "pieces of calls whose index is null",
    part: "place",
    source: "LibreChat-AI/agents#260",
    apply: (sending) =>
      eachPiece(sending, (piece) => {
        piece.index = null;
      }),
  },
  {
    name: "all calls at index 0, with ids of their own",
    part: "place",
    source: "apache/maka#1976",
    apply: (sending) =>
      eachPiece(sending, (piece) => {
        piece.index = 0;
      }),
  },
  {
    name: "indexes of calls as texts, interleaved",
    part: "place",
    source: "vllm-project/vllm (proxies that build JSON by hand)",
    apply(sending) {
      eachPiece(sending, (piece) => {
        piece.index = String(piece.index);
      });
      interleave(sending);
    },
  },
  {
    name: "indexes of calls that count from 1",
    source: "google/adk-go#1254",
    apply: (sending) => eachPiece(sending, (piece) => void piece.index++),
  },
  {
    name: "an empty name first, and then the whole one",
    part: "name",
    source: "sgl-project/sglang (streamed names)",
    apply: (sending) =>
      eachPiece(sending, (piece, number) => {
        if (number === 0) piece.function.name = "";
        if (number === 1) piece.function.name = callName(piece);
      }),
  },
  {
    name: "names of calls in pieces",
    part: "name",
    source: "continuedev/continue#5849",
    apply: (sending) =>
      eachPiece(sending, (piece, number) => {
        if (number === 0) piece.function.name = callName(piece).slice(0, 4);
        if (number === 1) piece.function.name = callName(piece).slice(4);
      }),
  },
  {
    name: "pieces of calls with neither an index nor an id",
    part: ["place", "id"],
    source: "ollama/ollama#7881",
    apply: (sending) =>
      eachPiece(sending, (piece) => {
        delete piece.index;
        delete piece.id;
      }),
  },
  {
    name: "ids of calls in their last pieces alone",
    part: "id",
    source: "google-gemini OpenAI compatibility",
    apply: (sending) =>
      eachPiece(sending, (piece, number) => {
        if (number === 0) delete piece.id;
        if (number === 2) piece.id = callId(piece);
      }),
  },
  {
    name: "no ids of calls at all",
    part: "id",
    source: "ollama/ollama#7881",
    apply: (sending) => eachPiece(sending, (piece) => void delete piece.id),
  },
  {
    name: "one id for all calls of a stream",
    part: "id",
    source: "ggml-org/llama.cpp (constant ids)",
    apply: (sending) =>
      eachPiece(sending, (piece, number) => {
        if (number === 0) piece.id = "call_0";
      }),
  },
  {
    name: "the pieces of the calls interleaved",
    part: "place",
    source: "ollama/ollama#7881",
    apply: interleave,
  },
  {
    name: "calls at index 0 that their ids alone tell apart, interleaved",
    part: ["place", "id"],
    source: "apache/maka#1976",
    apply(sending) {
      eachPiece(sending, (piece) => {
        piece.id = callId(piece);
        piece.index = 0;
      });
      interleave(sending);
    },
  },
  {
    name: "the calls once more, whole, in the last chunk",
    part: ["end", "arguments", "name"],
    source: "vllm-project/vllm (tool parsers)",
    apply: (sending) => {
      const last = lastOf(sending);
      if (last)
        last.delta = {
          tool_calls: said.calls.map(({ name, input }, index) => ({
            index,
            id: `call_${"ab"[index]}`,
            type: "function",
            function: { name, arguments: JSON.stringify(input) },
          })),
        };
    },
  },
]);

const calls: Imperfection[] = [
  {
    name: "arguments that are an object",
    part: "arguments",
    source: "ggml-org/llama.cpp#20198",
    outcome: "same",
    dialects: [openai, responses],
    forms: both,
    isTranslatedOnly: true,
    apply(sending) {
      for (const call of wholeCalls(sending)) call.function.arguments = JSON.parse(call.function.arguments);
      for (const item of sending.whole.output ?? []) if (item.arguments) item.arguments = JSON.parse(item.arguments);
      eachPiece(sending, (piece, number) => {
        piece.function.arguments = number === 0 ? said.calls[placeOf(piece)].input : "";
      });
      if (sending.dialect === responses) {
        drop(sending, ({ type }) => String(type).startsWith("response.function_call_arguments"));
        for (const { data } of jsonEvents(sending))
          if (data.type === "response.output_item.done" && data.item.arguments)
            data.item.arguments = JSON.parse(data.item.arguments);
      }
    },
  },
  {
    name: "arguments that are null where there are none yet",
    part: "arguments",
    source: "ollama/ollama#7881",
    outcome: "same",
    dialects: [openai],
    forms: streamed,
    apply: (sending) =>
      eachPiece(sending, (piece, number) => {
        if (number === 0) piece.function.arguments = null;
      }),
  },
  {
    name: "calls of a whole answer without ids or with the same",
    source: "google-gemini OpenAI compatibility",
    outcome: "same",
    dialects: [openai],
    forms: whole,
    apply(sending) {
      const [one, other] = wholeCalls(sending);
      one.id = other.id = "call_0";
    },
  },
  {
    name: "ids of calls that are numbers",
    source: "lmstudio-ai/lmstudio-bug-tracker#649",
    outcome: "same",
    dialects: [openai],
    forms: both,
    apply(sending) {
      wholeCalls(sending).forEach((call, index) => {
        call.id = 100 + index;
      });
      eachPiece(sending, (piece) => {
        if (piece.id !== undefined) piece.id = 100 + placeOf(piece);
      });
    },
  },
  {
    name: "ids of calls in an alphabet of their own",
    source: "musistudio/claude-code-router#1808",
    outcome: "same",
    dialects: [openai],
    forms: both,
    apply(sending) {
      for (const call of wholeCalls(sending)) call.id = `functions.${call.function.name}:0`;
      eachPiece(sending, (piece) => {
        if (piece.id !== undefined) piece.id = `functions.${callName(piece)}:0`;
      });
    },
  },
  {
    name: "ids of calls of 94 characters",
    source: "decolua/9router#393",
    outcome: "same",
    dialects: [openai],
    forms: both,
    apply(sending) {
      for (const call of wholeCalls(sending)) call.id = call.id.padEnd(94, "x");
      eachPiece(sending, (piece) => {
        if (piece.id !== undefined) piece.id = String(piece.id).padEnd(94, "x");
      });
    },
  },
  {
    name: "calls without a type",
    source: "QwenLM/Qwen3 (DashScope)",
    outcome: "same",
    dialects: [openai],
    forms: both,
    apply(sending) {
      for (const call of wholeCalls(sending)) delete call.type;
      eachPiece(sending, (piece) => void delete piece.type);
    },
  },
  {
    name: "the input of a call at the beginning of its block",
    source: "Yeachan-Heo/gajae-code#1895",
    outcome: "same",
    dialects: [anthropic],
    forms: streamed,
    apply(sending) {
      drop(sending, ({ delta }) => delta?.type === "input_json_delta");
      let at = 0;
      for (const { data } of jsonEvents(sending))
        if (data.content_block?.type === "tool_use") data.content_block.input = said.calls[at++ as 0 | 1].input;
    },
  },
  {
    name: "the beginning of a message without what clients fill",
    source: "SaladDay/cc-switch-cli#320, farion1231/cc-switch#7396",
    outcome: "same",
    dialects: [anthropic],
    forms: streamed,
    apply(sending) {
      for (const { data } of jsonEvents(sending))
        for (const name of ["content", "stop_reason", "stop_sequence"]) delete data.message?.[name];
    },
  },
  {
    name: "the beginnings of blocks without what clients fill",
    source: "labring/aiproxy#604",
    outcome: "same",
    dialects: [anthropic],
    forms: streamed,
    apply(sending) {
      for (const { data } of jsonEvents(sending))
        for (const name of ["text", "thinking", "signature", "input"]) delete data.content_block?.[name];
    },
  },
  {
    name: "blocks that are never stopped",
    source: "BerriAI/litellm (Messages of other providers)",
    outcome: "same",
    dialects: [anthropic, bedrock],
    forms: streamed,
    isTranslatedOnly: true,
    apply(sending) {
      sending.events = sending.events.filter(
        ({ event }) => event !== "content_block_stop" && event !== "contentBlockStop",
      );
    },
  },
  {
    name: "blocks that are stopped twice",
    source: "BerriAI/litellm#37273",
    outcome: "same",
    dialects: [anthropic, bedrock],
    forms: streamed,
    isTranslatedOnly: true,
    apply(sending) {
      sending.events = sending.events.flatMap((one) =>
        one.event === "content_block_stop" || one.event === "contentBlockStop" ? [one, structuredClone(one)] : [one],
      );
    },
  },
  {
    name: "no event behind the reason to finish",
    part: "end",
    source: "esengine/DeepSeek-Reasonix#8756",
    outcome: "same",
    dialects: [anthropic],
    forms: streamed,
    apply: (sending) => drop(sending, ({ type }) => type === "message_stop"),
  },
  {
    name: "all blocks at index 0",
    part: ["place", "arguments"],
    source: "router-for-me/CLIProxyAPI (Messages of other providers)",
    outcome: "same",
    dialects: [anthropic],
    forms: streamed,
    isTranslatedOnly: true,
    apply: (sending) => {
      for (const { data } of jsonEvents(sending)) if (data.index !== undefined) data.index = 0;
    },
  },
  {
    name: "the blocks of the calls interleaved",
    part: "place",
    source: "vllm-project/vllm (Messages)",
    outcome: "same",
    dialects: [anthropic, bedrock],
    forms: streamed,
    isTranslatedOnly: true,
    apply(sending) {
      const placeOf = ({ data }: WireEvent) => data.index ?? data.contentBlockIndex;
      const at = sending.events.findIndex((event) => placeOf(event) === 2);
      const [ofF, ofG] = [2, 3].map((place) => sending.events.filter((event) => placeOf(event) === place));
      const mixed = alternate(ofF ?? [], ofG ?? []);
      sending.events = sending.events.filter((event) => !mixed.includes(event));
      if (at >= 0) sending.events.splice(at, 0, ...mixed);
    },
  },
  {
    name: "another id of an item in each event",
    part: "place",
    source: "github/copilot-cli (Responses of Copilot)",
    outcome: "same",
    dialects: [responses],
    forms: streamed,
    apply(sending) {
      let count = 0;
      for (const { data } of jsonEvents(sending)) {
        if (data.item_id) data.item_id = `x${count++}`;
        if (data.item?.id) data.item.id = `x${count++}`;
      }
    },
  },
  {
    name: "no events that end an item",
    source: "NousResearch/hermes-agent#92764",
    outcome: "same",
    dialects: [responses],
    forms: streamed,
    apply: (sending) => drop(sending, ({ type }) => type === "response.output_item.done"),
  },
  {
    name: "names of calls in their last event alone",
    part: "name",
    source: "vllm-project/vllm#55284",
    outcome: "same",
    dialects: [responses],
    forms: streamed,
    apply(sending) {
      for (const { data } of jsonEvents(sending))
        if (data.type === "response.output_item.added" && data.item?.name) data.item.name = "";
    },
  },
  {
    name: "arguments of a call in its last event alone",
    source: "NousResearch/hermes-agent#92764",
    outcome: "same",
    dialects: [responses],
    forms: streamed,
    isTranslatedOnly: true,
    apply: (sending) => drop(sending, ({ type }) => type === "response.function_call_arguments.delta"),
  },
  {
    name: "no places of items",
    part: "place",
    source: "vllm-project/agentic-api#168",
    outcome: "same",
    dialects: [responses],
    forms: streamed,
    apply: (sending) => {
      for (const { data } of jsonEvents(sending)) delete data.output_index;
    },
  },
  {
    name: "no items in the last event of a response",
    part: "end",
    source: "open-webui/open-webui#27800, vllm-project/vllm#30223",
    outcome: "same",
    dialects: [responses],
    forms: streamed,
    apply: (sending) => {
      for (const { data } of jsonEvents(sending)) if (data.type === "response.completed") data.response.output = [];
    },
  },
  {
    name: "no list of items in the last event of a response, and no events that end them",
    part: ["end", "arguments"],
    source: "straff2002/OpenGlasses#410, NousResearch/hermes-agent#92764",
    outcome: "same",
    dialects: [responses],
    forms: streamed,
    apply: (sending) => {
      drop(sending, ({ type }) => type === "response.output_item.done");
      for (const { data } of jsonEvents(sending)) if (data.type === "response.completed") delete data.response.output;
    },
  },
  {
    name: "nothing but the event of the whole response",
    part: "end",
    source: "KochC/opencode-llm-proxy#61",
    outcome: "same",
    dialects: [responses],
    forms: streamed,
    isTranslatedOnly: true,
    apply: (sending) => drop(sending, ({ type }) => !["response.created", "response.completed"].includes(String(type))),
  },
  {
    name: "all parts of an answer in one event",
    part: "end",
    source: "su-kaka/gcli2api#406",
    outcome: "same",
    dialects: [gemini],
    forms: streamed,
    apply: (sending) => {
      sending.events = [{ data: sending.whole }];
    },
  },
  {
    name: "a reason to finish in each event",
    part: "end",
    source: "googleapis/python-genai (Vertex)",
    outcome: "same",
    dialects: [gemini],
    forms: streamed,
    apply: (sending) => {
      for (const { data } of jsonEvents(sending)) data.candidates[0].finishReason = "STOP";
    },
  },
  {
    name: "candidates without an index, and usage in the last event alone",
    part: "usage",
    source: "googleapis/python-genai (protobuf leaves zeros out)",
    outcome: "same",
    dialects: [gemini],
    forms: streamed,
    apply: (sending) => {
      for (const { data } of jsonEvents(sending)) {
        delete data.candidates[0].index;
        if (data.candidates[0].finishReason === undefined) delete data.usageMetadata;
      }
    },
  },
];

const fields: Imperfection[] = rowsOf({ outcome: "same", dialects: [openai], forms: both }, [
  {
    name: "content that is a list of parts",
    source: "mistralai/client-python (magistral)",
    apply: (sending) =>
      eachChoice(sending, ({ delta, message }) => {
        for (const one of [delta, message])
          if (typeof one?.content === "string") one.content = [{ type: "text", text: one.content }];
      }),
    forms: both,
  },
  {
    name: "content that is one part",
    source: "lm-sys/FastChat forks",
    apply: (sending) =>
      eachChoice(sending, ({ delta, message }) => {
        for (const one of [delta, message])
          if (typeof one?.content === "string") one.content = { type: "text", text: one.content };
      }),
    forms: both,
  },
  {
    name: "null for every field that has nothing",
    source: "langchain-ai/langchain (OpenAI-compatible servers)",
    apply: (sending) =>
      eachChoice(sending, ({ delta, message }) => {
        for (const one of [delta, message]) {
          if (!one) continue;
          for (const name of [
            "content",
            "reasoning_content",
            "tool_calls",
            "function_call",
            "refusal",
            "audio",
            "role",
          ])
            one[name] ??= null;
        }
      }),
    forms: both,
  },
  {
    name: "reasoning in `reasoning`",
    source: "vllm-project/vllm#27755",
    apply: (sending) =>
      eachChoice(sending, ({ delta, message }) => {
        for (const one of [delta, message]) {
          if (one?.reasoning_content === undefined) continue;
          one.reasoning = one.reasoning_content;
          delete one.reasoning_content;
        }
      }),
    forms: both,
  },
  {
    name: "reasoning in `reasoning_text`",
    source: "ericc-ch/copilot-api#152, anomalyco/opencode#8900",
    outcome: "same",
    dialects: [openai],
    forms: both,
    apply: (sending) => {
      eachChoice(sending, ({ delta, message }) => {
        const written = delta ?? message;
        if (written?.reasoning_content === undefined) return;
        written.reasoning_text = written.reasoning_content;
        delete written.reasoning_content;
      });
    },
  },
  {
    name: "{} before the arguments of a call",
    part: "arguments",
    source: "openai/openai-agents-js#712, BerriAI/litellm#4537",
    dialects: [openai],
    forms: streamed,
    apply: (sending) =>
      eachPiece(sending, (piece, number) => {
        if (number === 0 && piece.function?.arguments === "") piece.function.arguments = "{}";
      }),
  },
  {
    name: "arguments of a call once more, whole and without the name",
    part: ["arguments", "name"],
    source: "mudler/cogito#66",
    dialects: [openai],
    forms: streamed,
    apply(sending) {
      const lastOf = new Map<unknown, [Loose, string]>();
      eachPiece(sending, (piece) => {
        const before = lastOf.get(placeOf(piece))?.[1] ?? "";
        lastOf.set(placeOf(piece), [piece, before + (piece.function?.arguments ?? "")]);
      });
      for (const [piece, whole] of lastOf.values()) {
        const at = sending.events.findIndex(({ data }) => data.choices?.[0]?.delta?.tool_calls?.includes(piece));
        const again = structuredClone(sending.events[at]) as WireEvent;
        again.data.choices[0].delta.tool_calls = [{ index: piece.index, function: { arguments: whole } }];
        again.data.choices[0].finish_reason = null;
        if (at >= 0) sending.events.splice(at + 1, 0, again);
      }
    },
  },
  {
    name: "arguments of calls encoded twice",
    part: "arguments",
    source: "vllm-project/vllm#54964, quarkiverse/quarkus-langchain4j#2642",
    dialects: [openai, responses, anthropic],
    apply(sending) {
      const { dialect, whole: answer } = sending;
      const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
      const encode = (holder: Loose) => {
        if (isText(holder?.arguments)) holder.arguments = JSON.stringify(holder.arguments);
      };
      for (const call of wholeCalls(sending)) encode(call.function);
      for (const item of answer.output ?? []) encode(item);
      for (const block of answer.content ?? []) if (block.input) block.input = JSON.stringify(block.input);
      const last = new Map<unknown, () => void>();
      // Each piece of a JSON text is a piece of the text in which it is encoded once more.
      const encodePiece = (place: unknown, holder: Loose, name: string) => {
        if (!isText(holder?.[name])) return;
        const inner = JSON.stringify(holder[name]).slice(1, -1);
        holder[name] = last.has(place) ? inner : `"${inner}`;
        last.set(place, () => {
          holder[name] += '"';
        });
      };
      eachPiece(sending, (piece) => encodePiece(placeOf(piece), piece.function, "arguments"));
      for (const { data } of jsonEvents(sending)) {
        if (dialect === anthropic) encodePiece(data.index, data.delta, "partial_json");
        if (dialect !== responses) continue;
        if (data.type === "response.function_call_arguments.delta")
          encodePiece(data.output_index ?? data.item_id, data, "delta");
        for (const holder of [data, data.item, ...(data.response?.output ?? [])]) encode(holder);
      }
      for (const close of last.values()) close();
    },
  },
  {
    name: "reasoning in both fields",
    source: "openrouter (reasoning beside reasoning_content)",
    apply: (sending) =>
      eachChoice(sending, ({ delta, message }) => {
        for (const one of [delta, message])
          if (one?.reasoning_content !== undefined) one.reasoning = one.reasoning_content;
      }),
    forms: both,
  },
  {
    name: "the role in each chunk",
    source: "groq, fireworks",
    apply: (sending) =>
      eachChoice(sending, ({ delta }) => {
        if (delta) delta.role = "assistant";
      }),
    forms: streamed,
  },
  {
    name: "an empty reason to finish in each chunk",
    part: "end",
    source: "sgl-project/sglang#3912",
    apply: (sending) =>
      eachChoice(sending, (choice) => {
        if (choice.delta) choice.finish_reason ??= "";
      }),
    forms: streamed,
  },
  {
    name: "stop as the end of calls",
    part: "end",
    source: "ollama/ollama#7881",
    apply: (sending) =>
      eachChoice(sending, (choice) => {
        if (choice.finish_reason) choice.finish_reason = "stop";
      }),
    forms: both,
  },
  {
    name: "another provider's word for the end",
    part: "end",
    source: "CangShui/workbuddy-gateway#3",
    apply: (sending) =>
      eachChoice(sending, (choice) => {
        if (choice.finish_reason) choice.finish_reason = "END_TURN";
      }),
    forms: both,
  },
  {
    name: "no delta in the last chunk",
    source: "Azure/azure-sdk-for-net#43952",
    apply: (sending) => void delete lastOf(sending)?.delta,
    forms: streamed,
  },
  {
    name: "a delta that is null in the last chunk",
    source: "Azure/azure-sdk-for-net#43952",
    apply: (sending) => {
      const last = lastOf(sending);
      if (last) last.delta = null;
    },
    forms: streamed,
  },
  {
    name: "the whole message in one chunk",
    part: "end",
    source: "lmstudio-ai/lmstudio-bug-tracker (faked streams)",
    apply: (sending) => {
      sending.events = [{ data: sending.whole }, { data: "[DONE]" }];
    },
    forms: streamed,
  },
  {
    name: "the whole message once more, in the last chunk",
    part: "end",
    source: "InternLM/lmdeploy (message beside delta)",
    apply: (sending) => {
      const last = lastOf(sending);
      if (last) last.message = sending.whole.choices[0].message;
    },
    forms: streamed,
  },
  {
    name: "chunks without an index of the choice",
    source: "QwenLM/Qwen3 (DashScope)",
    apply: (sending) => eachChoice(sending, (choice) => void delete choice.index),
    forms: both,
  },
  {
    name: "chunks without choices between the others",
    source: "Azure/azure-sdk-for-net#43952",
    apply: (sending) => {
      sending.events = sending.events.flatMap((event) =>
        event.data === "[DONE]" ? [event] : [{ data: { id: "", object: "", choices: [] } }, event],
      );
    },
    forms: streamed,
  },
  {
    name: "usage in each chunk, as far as it is",
    part: "usage",
    source: "tensorzero/tensorzero#5481",
    apply: (sending) => {
      jsonEvents(sending).forEach(({ data }, index) => {
        data.usage ??= { prompt_tokens: 12, completion_tokens: index, total_tokens: 12 + index };
      });
    },
    forms: streamed,
  },
  {
    name: "usage in a chunk of nothing else",
    part: "usage",
    source: "vllm-project/vllm (include_usage)",
    apply: (sending) => {
      for (const { data } of jsonEvents(sending)) if (data.usage) delete data.choices;
    },
    forms: streamed,
  },
  {
    name: "usage in the last chunk of the choice",
    part: "usage",
    source: "deepseek-ai/DeepSeek-V3",
    apply: (sending) => {
      const usage = jsonEvents(sending).find(({ data }) => data.usage)?.data.usage;
      for (const { data } of jsonEvents(sending)) if (data.choices?.[0]?.finish_reason) data.usage = usage;
      drop(sending, (data) => data.usage && data.choices.length === 0);
    },
    forms: streamed,
  },
  {
    name: "usage in the last choice",
    part: "usage",
    source: "earendil-works/pi#2017",
    apply: (sending) => {
      const { usage } = sending.whole;
      const last = lastOf(sending);
      if (last) last.usage = usage;
      sending.whole.choices[0].usage = usage;
      delete sending.whole.usage;
      drop(sending, (data) => data.usage);
    },
    forms: both,
  },
  {
    name: "usage in the last choice, and once more behind it",
    part: "usage",
    source: "maximhq/bifrost#191",
    apply: (sending) => {
      const { usage } = sending.whole;
      const last = lastOf(sending);
      if (last) last.usage = usage;
      sending.whole.choices[0].usage = usage;
    },
    forms: both,
  },
  {
    name: "usage behind [DONE]",
    part: ["usage", "end"],
    source: "Continuum-AI-Corp/OrcaRouter-Lite#127",
    apply: (sending) => {
      const isUsage = ({ data }: WireEvent) => data.usage && data.choices?.length === 0;
      const reports = sending.events.filter(isUsage);
      sending.events = [...sending.events.filter((event) => !isUsage(event)), ...reports];
    },
    forms: streamed,
  },
  {
    name: "white space around [DONE]",
    source: "mistralai/mistral-vibe#793",
    apply: (sending) => {
      for (const event of sending.events) if (event.data === "[DONE]") event.data = " [DONE] ";
    },
    forms: streamed,
  },
  {
    name: "no [DONE]",
    part: "end",
    source: "theopenco/llmgateway#1901",
    apply: (sending) => {
      sending.events = sending.events.filter(({ data }) => data !== "[DONE]");
    },
    forms: streamed,
  },
]);

const figures: Imperfection[] = rowsOf({ outcome: "same", dialects: all, forms: both }, [
  {
    name: "figures of usage as texts",
    source: "higress-group/higress#4149",
    apply: (sending) =>
      eachUsage(sending, (usage) => {
        for (const name in usage) if (typeof usage[name] === "number") usage[name] = String(usage[name]);
      }),
  },
  {
    name: "output that only the total has",
    part: "usage",
    source: "mozilla-ai/any-llm#1290",
    dialects: [openai, responses, gemini],
    apply: (sending) =>
      eachUsage(sending, (usage) => {
        for (const name of ["completion_tokens", "output_tokens", "candidatesTokenCount"])
          if (usage[name] === 34) usage[name] = 4;
      }),
  },
  {
    name: "null for figures of usage that are not known",
    part: "usage",
    source: "BerriAI/litellm#33772",
    apply: (sending) =>
      eachUsage(sending, (usage) => {
        for (const name of [
          "total_tokens",
          "prompt_tokens_details",
          "completion_tokens_details",
          "cachedContentTokenCount",
        ])
          usage[name] = null;
      }),
  },
  {
    name: "details of usage that are empty or of another type",
    source: "huggingface/tau#553",
    apply: (sending) =>
      eachUsage(sending, (usage) => {
        usage.prompt_tokens_details = [];
        usage.input_tokens_details = {};
        usage.completion_tokens_details = "none";
      }),
  },
]);

const framing: Imperfection[] = rowsOf({ outcome: "same", dialects: sse, forms: streamed }, [
  {
    name: "lines that end in CRLF",
    source: "praxis-proxy/praxis#739",
    apply: (sending) => {
      sending.finish = (text) => text.replaceAll("\n", "\r\n");
    },
  },
  {
    name: "lines that end in CR",
    source: "openai/openai-python#498",
    apply: (sending) => {
      sending.finish = (text) => text.replaceAll("\n", "\r");
    },
  },
  {
    name: "a byte order mark",
    source: "praxis-proxy/praxis#739",
    apply: (sending) => {
      sending.preface = `\uFEFF${sending.preface}`;
    },
  },
  {
    name: "comments before and between events",
    source: "openrouter (: OPENROUTER PROCESSING)",
    apply: (sending) => {
      const { frame } = sending;
      sending.preface += ": PROCESSING\n\n";
      sending.frame = (event) => `: keep-alive\n\n${frame(event)}`;
    },
  },
  {
    name: "no space after data:",
    source: "praxis-proxy/praxis#739",
    apply: (sending) => {
      const { frame } = sending;
      sending.frame = (event) => frame(event).replace("data: ", "data:");
    },
  },
  {
    name: "no names of events",
    source: "earendil-works/pi#1983",
    apply: (sending) => {
      for (const event of sending.events) delete event.event;
    },
  },
  {
    name: "the same name for all events",
    source: "ranxianglei/billion-context#549",
    apply: (sending) => {
      for (const event of sending.events) event.event = "message";
    },
  },
  {
    name: "ids and retry times of events",
    source: "openai/openai-python#498",
    apply: (sending) => {
      const { frame } = sending;
      sending.frame = (event) => `id: 7\nretry: 100\n${frame(event)}`;
    },
  },
  {
    name: "JSON over several lines of data",
    source: "praxis-proxy/praxis#739",
    apply: (sending) => {
      sending.frame = ({ event, data }) => {
        const text = typeof data === "string" ? data : JSON.stringify(data, undefined, 1);
        const lines = text.split("\n").map((line) => `data: ${line}\n`);
        return `${event === undefined ? "" : `event: ${event}\n`}${lines.join("")}\n`;
      };
    },
  },
  {
    name: "no blank line after the last event",
    source: "openai/openai-python#498",
    apply: (sending) => {
      const { finish } = sending;
      sending.finish = (text) => finish(text).trimEnd();
    },
  },
  {
    name: "events labelled text/plain",
    source: "Lingtai-AI/lingtai-kernel#1132",
    apply: (sending) => {
      sending.contentType = "text/plain; charset=utf-8";
    },
  },
  {
    name: "events labelled as bytes",
    source: "Wei-Shaw/sub2api#2826",
    apply: (sending) => {
      sending.contentType = "application/octet-stream";
    },
  },
  {
    name: "events without a label",
    source: "Wei-Shaw/sub2api#2826",
    apply: (sending) => {
      sending.contentType = undefined;
    },
  },
  {
    name: "empty lines before the events",
    source: "deepseek-ai/DeepSeek-V3 (keep-alive)",
    apply: (sending) => {
      sending.preface += "\n\n\n";
    },
  },
]);

/** The other form than was asked for: events where JSON was, JSON where events were. */
const otherForm: Imperfection[] = rowsOf({ outcome: "same", dialects: all, forms: both }, [
  {
    name: "a whole answer where a stream was asked for",
    source: "lidge-jun/opencodex#1006",
    forms: streamed,
    dialects: all,
    apply: (sending) => asText(JSON.stringify(sending.whole))(sending),
  },
  {
    name: "a whole answer, written over lines and labelled as events, where a stream was asked for",
    source: "tinyhumansai/tinyagents#56",
    forms: streamed,
    dialects: all,
    apply: (sending) => asText(JSON.stringify(sending.whole, undefined, 2), "text/event-stream")(sending),
  },
  {
    name: "a stream where a whole answer was asked for",
    source: "BYK/loreai#605",
    forms: whole,
    dialects: sse,
    apply: (sending) => void Object.assign(sending, { form: "stream", contentType: "text/event-stream" }),
  },
  {
    name: "a stream labelled as JSON where a whole answer was asked for",
    source: "Wei-Shaw/sub2api#2826",
    forms: whole,
    dialects: sse,
    apply: (sending) => void Object.assign(sending, { form: "stream", contentType: "application/json" }),
  },
  {
    name: "lines of JSON in place of events",
    source: "ollama/ollama (NDJSON)",
    forms: streamed,
    dialects: [openai, anthropic, gemini],
    apply: (sending) => {
      sending.contentType = "application/x-ndjson";
      sending.frame = ({ data }) => (typeof data === "string" ? "" : `${JSON.stringify(data)}\n`);
    },
  },
  {
    name: "a list in place of events",
    source: "google-gemini/generative-ai-js (without alt=sse)",
    forms: streamed,
    dialects: [openai, anthropic, gemini],
    apply: (sending) => {
      sending.contentType = "application/json";
      sending.body = JSON.stringify(jsonEvents(sending).map(({ data }) => data));
    },
  },
  {
    name: "white space before the answer",
    source: "deepseek-ai/DeepSeek-V3 (keep-alive)",
    forms: whole,
    dialects: all,
    apply: (sending) => {
      sending.preface = "\n\n \n";
    },
  },
  {
    name: "JSON labelled text/html",
    source: "Wei-Shaw/sub2api#3283",
    forms: whole,
    dialects: all,
    apply: (sending) => {
      sending.contentType = "text/html";
    },
  },
]);

/** Ends without which, or by which, an answer is not a success. */
const ends: Imperfection[] = [
  {
    name: "the end by error",
    part: "end",
    source: "genkit-ai/genkit#6259",
    outcome: "failure",
    dialects: [openai, anthropic, responses],
    forms: both,
    apply(sending) {
      eachChoice(sending, (choice) => {
        if (choice.finish_reason) choice.finish_reason = "error";
      });
      for (const data of [...jsonEvents(sending).map((event) => event.data), sending.whole]) {
        for (const part of [data, data.delta]) if (part?.stop_reason) part.stop_reason = "error";
        for (const part of [data, data.response])
          if (part?.status === "completed" && part.output) part.status = "cancelled";
      }
    },
  },
  {
    name: "calls without a name",
    part: "name",
    source: "vllm-project/vllm#55284",
    outcome: "failure",
    dialects: [openai, responses, anthropic],
    forms: both,
    apply(sending) {
      eachPiece(sending, (piece) => delete piece.function?.name);
      for (const call of wholeCalls(sending)) delete call.function.name;
      for (const data of [...jsonEvents(sending).map((event) => event.data), sending.whole]) {
        const items = [data.item, ...(data.output ?? []), ...(data.response?.output ?? [])];
        for (const one of [...items, data.content_block, ...(data.content ?? [])]) if (one?.name) delete one.name;
        delete data.name;
      }
    },
  },
  {
    name: "an error in the choice",
    part: "end",
    source: "damianvtran/local-operator#223",
    outcome: "failure",
    dialects: [openai],
    forms: both,
    apply: (sending) =>
      eachChoice(sending, (choice) => {
        if (choice.finish_reason) Object.assign(choice, { error: { code: 502, message: "Provider returned error" } });
      }),
  },
  {
    name: "a word that nobody knows as the end",
    part: "end",
    source: "nearai/ironclaw#6697",
    outcome: "cut",
    dialects: [openai],
    forms: both,
    apply: (sending) =>
      eachChoice(sending, (choice) => {
        if (choice.finish_reason) choice.finish_reason = "a_word_of_tomorrow";
      }),
  },
  {
    name: "the answer in another server's form",
    part: "end",
    source: "ollama/ollama (its own API)",
    outcome: "failure",
    dialects: [openai, anthropic],
    forms: whole,
    apply: asJson({ model: "m", message: { role: "assistant", content: said.text }, done: true }),
  },
  {
    name: "usage without choices",
    part: ["end", "usage"],
    source: "ENTERPILOT/GoModel#947",
    outcome: "failure",
    dialects: [openai],
    forms: whole,
    apply(sending) {
      sending.whole.choices = [];
    },
  },
  {
    name: "a stream that ends without its end",
    part: "end",
    source: "ENTERPILOT/GoModel#1017",
    outcome: "failure",
    dialects: all,
    forms: streamed,
    apply(sending) {
      const isEnd = ({ event, data }: WireEvent) =>
        data === "[DONE]" ||
        Boolean(data.choices?.[0]?.finish_reason) ||
        (data.usage && data.choices?.length === 0) ||
        Boolean(data.candidates?.[0]?.finishReason) ||
        ["message_delta", "message_stop", "response.completed", "messageStop", "metadata"].includes(
          data.type ?? event ?? "",
        );
      sending.events = sending.events.filter((event) => !isEnd(event));
    },
  },
  {
    name: "an error within the stream",
    part: "end",
    source: "diegosouzapw/OmniRoute#8210",
    outcome: "failure",
    dialects: sse,
    forms: streamed,
    apply(sending) {
      const error = { type: "server_error", code: "server_error", message: "Overloaded" };
      const at = Math.floor(sending.events.length / 2);
      sending.events.splice(at, sending.events.length, { event: "error", data: { type: "error", error, choices: [] } });
    },
  },
  {
    name: "the beginning of a call alone",
    part: ["name", "end"],
    source: "waybarrios/vllm-mlx#677",
    outcome: "failure",
    dialects: [openai],
    forms: streamed,
    apply: (sending) =>
      eachPiece(sending, (piece, number) => {
        delete piece.function.name;
        if (number === 0) delete piece.id;
      }),
  },
];

/** Nothing at all of an answer, with 200. */
const nothing: Imperfection[] = rowsOf({ outcome: "elsewhere", dialects: all, forms: both }, [
  { name: "an empty body in place of the answer", source: "Yachiyo-5i/xLyra#7", apply: asText("") },
  {
    name: "white space alone in place of the answer",
    source: "deepseek-ai/DeepSeek-V3 (keep-alive)",
    apply: asText("\n\n\n"),
  },
  {
    name: "a page in place of the answer",
    source: "Wei-Shaw/sub2api#3283",
    apply: asText("<!DOCTYPE html><html><body>502</body></html>", "text/html"),
  },
  {
    name: "a page that is labelled as the answer in place of the answer",
    source: "Wei-Shaw/sub2api#3283",
    apply: asText("<html>Bad gateway</html>"),
  },
  {
    name: "a text in place of the answer",
    source: "envoyproxy/envoy (upstream connect error)",
    apply: asText("upstream connect error", "text/plain"),
  },
  {
    name: "an error without a code in place of the answer",
    source: "hugalafutro/model-hotel#978",
    apply: asJson({ error: { message: "Something failed" } }),
  },
  {
    name: "an error that is a text in place of the answer",
    source: "ENTERPILOT/GoModel#947",
    apply: asJson({ error: "quota" }),
  },
  { name: "a detail in place of the answer", source: "fastapi/fastapi", apply: asJson({ detail: "Model is loading" }) },
  {
    name: "a number and a message in place of the answer",
    source: "zai-org/GLM-4.5 (1305)",
    apply: asJson({ code: 1305, msg: "busy" }),
  },
  {
    name: "MiniMax's base_resp in place of the answer",
    source: "ENTERPILOT/GoModel#1022",
    apply: asJson({ base_resp: { status_code: 1000, status_msg: "unknown" } }),
  },
  {
    name: "no success in place of the answer",
    source: "QuantumNous/new-api",
    apply: asJson({ success: false, message: "failed" }),
  },
  {
    name: "an object with nothing in it in place of the answer",
    source: "hugalafutro/model-hotel#978",
    apply: asJson({}),
  },

  {
    name: "no choices",
    source: "ENTERPILOT/GoModel#947",
    dialects: all,
    forms: whole,
    apply(sending) {
      const { whole: answer } = sending;
      for (const name of ["choices", "content", "output", "candidates"]) if (name in answer) answer[name] = null;
      for (const name of ["usage", "usageMetadata"]) delete answer[name];
    },
  },
  {
    name: "[DONE] and nothing else",
    source: "ENTERPILOT/GoModel#947",
    dialects: sse,
    forms: streamed,
    apply: (sending) => {
      sending.events = [{ data: "[DONE]" }];
    },
  },
  {
    name: "the beginning of the answer, and then its end",
    part: "end",
    source: "sgl-project/sglang#3912",
    dialects: sse,
    forms: streamed,
    apply(sending) {
      sending.events = sending.events.slice(0, 1);
      for (const { data } of sending.events) {
        if (data.candidates) data.candidates[0].content = { role: "model", parts: [] };
        for (const holder of [data, data.message ?? {}, data.response ?? {}]) {
          delete holder.usage;
          delete holder.usageMetadata;
        }
      }
    },
  },
  {
    name: "an error as the first event",
    source: "ENTERPILOT/GoModel#1022",
    dialects: sse,
    forms: streamed,
    apply(sending) {
      sending.events = [{ event: "error", data: { error: { message: "Something failed" } } }];
    },
  },
]);

/** The ways in which real servers deviate from their dialects. */
export const imperfections: readonly Imperfection[] = [
  ...identity,
  ...calls,
  ...fields,
  ...figures,
  ...framing,
  ...otherForm,
  ...ends,
  ...nothing,
];
