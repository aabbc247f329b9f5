/** What is asked in every call, and what must come back. Both proxies and the load generators know it from here. */
export const chunkCount = 100;
/** Between two chunks of a paced stream. */
export const chunkIntervalMs = 20;
/** In the question of a call whose stream is to be paced, or to stay open until it is told to go on. */
export const streamMarks = { paced: "[paced]", open: "[open]" } as const;

export type Protocol = "chat" | "responses" | "messages";

/** One kind of call. */
interface Job {
  title: string;
  protocol: Protocol;
  /**
   * Chunks that follow at once, or with {@link chunkIntervalMs} between them, or two and the rest when the bench says so;
   * absent: a whole answer.
   */
  stream?: "burst" | "paced" | "open";
  /** Kilobytes of the question, about. */
  promptKb: number;
}

export const jobs = {
  json: { title: "chat", protocol: "chat", promptKb: 1 },
  json30: { title: "chat, prompt of 30 kB", protocol: "chat", promptKb: 30 },
  json300: { title: "chat, prompt of 300 kB", protocol: "chat", promptKb: 300 },
  burst: { title: "chat, stream", protocol: "chat", stream: "burst", promptKb: 1 },
  paced: { title: `stream, ${chunkIntervalMs} ms a chunk`, protocol: "chat", stream: "paced", promptKb: 1 },
  open: { title: "chat, open stream", protocol: "chat", stream: "open", promptKb: 1 },
  responses: { title: "Responses", protocol: "responses", promptKb: 1 },
  responsesBurst: { title: "Responses, stream", protocol: "responses", stream: "burst", promptKb: 1 },
  messages: { title: "Messages", protocol: "messages", promptKb: 1 },
  messagesBurst: { title: "Messages, stream", protocol: "messages", stream: "burst", promptKb: 1 },
} as const satisfies Record<string, Job>;

export type JobKind = keyof typeof jobs;

export const isStreamed = (kind: JobKind): boolean => "stream" in jobs[kind];

export const pathOf: Readonly<Record<Protocol, string>> = {
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  messages: "/v1/messages",
};

/** Needs the models' ids as the gateway has them; the upstream answers whatever it is asked for. */
const modelOf: Readonly<Record<Protocol, string>> = {
  chat: "famA-4.1-nano",
  responses: "famA-4.1-nano",
  messages: "famC-haiku-4-5",
};

export const answerText = "The quick brown fox jumps over the lazy dog, and then says a few words more. ".repeat(8);

/** The first chunk brings the role, the last but one the reason of the end, the last the usage. */
export const chunkTexts = Array.from({ length: chunkCount - 3 }, (_, index) => ` word${index}`);
const streamText = chunkTexts.join("");

export const usage = {
  prompt_tokens: 350,
  completion_tokens: 120,
  total_tokens: 470,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
};

const instructions = "You are a helpful assistant who answers in few words. ".repeat(8);

/** A conversation as agents send it: many turns of a few kilobytes, with code and its escapes in them. */
function turnsOf(kind: JobKind): { role: string; content: string }[] {
  const mark = kind === "paced" || kind === "open" ? streamMarks[kind] : "";
  const question = { role: "user", content: `${mark}Tell me about foxes and dogs. ${"Say why. ".repeat(60)}` };
  const turn = 'const fox = "brown";\n\tif (fox !== "quick") throw new Error("too slow");\n'.repeat(24);
  const count = Math.floor((jobs[kind].promptKb - 1) / 2);
  const earlier = Array.from({ length: count }, (_, at) => ({
    role: at % 2 === 0 ? "user" : "assistant",
    content: turn,
  }));
  return [...earlier, question];
}

/** @param asked The model's name where another proxy has another. */
export function requestBody(kind: JobKind, asked?: string): string {
  const { protocol } = jobs[kind];
  const stream = isStreamed(kind);
  const turns = turnsOf(kind);
  const model = asked ?? modelOf[protocol];
  switch (protocol) {
    case "chat":
      return JSON.stringify({
        model,
        messages: [{ role: "system", content: instructions }, ...turns],
        temperature: 0.7,
        max_tokens: 200,
        ...(stream && { stream, stream_options: { include_usage: true } }),
      });
    case "responses": {
      const body = { model, instructions, input: turns, max_output_tokens: 200, store: false };
      return JSON.stringify({ ...body, ...(stream && { stream }) });
    }
    case "messages":
      return JSON.stringify({
        model,
        system: instructions,
        messages: turns,
        max_tokens: 200,
        ...(stream && { stream }),
      });
  }
}

/** @returns What is wrong with an answer; `undefined` when it is the one that the upstream gave. */
export function mistakeIn(kind: JobKind, status: number, body: string): string | undefined {
  if (status !== 200) return `status ${status}: ${body.slice(0, 300)}`;
  try {
    const { protocol } = jobs[kind];
    const text = isStreamed(kind) ? readStream[protocol](body) : readAnswer[protocol](JSON.parse(body));
    const expected = isStreamed(kind) ? streamText : answerText;
    return text === expected ? undefined : `another text than the upstream's: ${String(text).slice(0, 300)}`;
  } catch (error) {
    return `${error}: ${body.slice(0, 300)}`;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the fields of an answer are what is checked here.
type Json = any;

const readAnswer: Record<Protocol, (answer: Json) => unknown> = {
  chat: (answer) => answer.choices[0].message.content,
  responses: ({ output }) => output.find((item: Json) => item.type === "message").content[0].text,
  messages: ({ content }) => content.find((block: Json) => block.type === "text").text,
};

const readStream: Record<Protocol, (body: string) => string> = {
  chat(body) {
    const events = eventsOf(body);
    if (events.pop() !== "[DONE]") throw new Error("The stream ended without [DONE]");
    const chunks = events.map((data) => JSON.parse(data));
    if (chunks.at(-1)?.usage?.total_tokens !== usage.total_tokens)
      throw new Error("The stream ended without its usage");
    return chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
  },
  responses(body) {
    // One of the peers ends it as a chat's.
    const events = eventsOf(body).flatMap((data) => (data === "[DONE]" ? [] : JSON.parse(data)));
    const last = events.at(-1);
    if (last?.type !== "response.completed") throw new Error("The stream ended without response.completed");
    if (last.response.usage.total_tokens !== usage.total_tokens) throw new Error("The stream ended without its usage");
    return events.map(({ type, delta }) => (type === "response.output_text.delta" ? delta : "")).join("");
  },
  messages(body) {
    const events = eventsOf(body).map((data) => JSON.parse(data));
    if (events.at(-1)?.type !== "message_stop") throw new Error("The stream ended without message_stop");
    return events.map(({ type, delta }) => (type === "content_block_delta" ? (delta.text ?? "") : "")).join("");
  },
};

function eventsOf(body: string): string[] {
  return body.split("\n\n").flatMap((event) => /^data: (.*)$/m.exec(event)?.[1] ?? []);
}
