/** What is asked in every call, and what must come back. Both proxies and the load generators know it from here. */
export const chunkCount = 100;
/** Between two chunks of a paced stream. */
export const chunkIntervalMs = 10;
/** In the question of a call whose stream is to be paced. */
export const pacedMark = "[paced]";

export const jobKinds = ["json", "burst", "paced"] as const;
/** A whole answer; a stream whose chunks follow at once; a stream with {@link chunkIntervalMs} between its chunks. */
export type JobKind = (typeof jobKinds)[number];

/** Needs the model's id as the gateway has it; the upstream answers whatever it is asked for. */
const model = "famA-4.1-nano";

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

/** @param asked The model's name where another proxy has another. */
export function requestBody(kind: JobKind, asked = model): string {
  return JSON.stringify({
    model: asked,
    messages: [
      { role: "system", content: "You are a helpful assistant who answers in few words. ".repeat(8) },
      {
        role: "user",
        content: `${kind === "paced" ? pacedMark : ""}Tell me about foxes and dogs. ${"Say why. ".repeat(60)}`,
      },
    ],
    temperature: 0.7,
    max_tokens: 200,
    ...(kind !== "json" && { stream: true, stream_options: { include_usage: true } }),
  });
}

/** @returns What is wrong with an answer; `undefined` when it is the one that the upstream gave. */
export function mistakeIn(kind: JobKind, status: number, body: string): string | undefined {
  if (status !== 200) return `status ${status}: ${body.slice(0, 300)}`;
  try {
    const text = kind === "json" ? JSON.parse(body).choices[0].message.content : textOfStream(body);
    const expected = kind === "json" ? answerText : streamText;
    return text === expected ? undefined : `another text than the upstream's: ${String(text).slice(0, 300)}`;
  } catch (error) {
    return `${error}: ${body.slice(0, 300)}`;
  }
}

function textOfStream(body: string): string {
  const events = body.split("\n\n").filter((event) => event.startsWith("data: "));
  if (events.pop() !== "data: [DONE]") throw new Error("The stream ended without [DONE]");
  const chunks = events.map((event) => JSON.parse(event.slice(6)));
  if (chunks.at(-1)?.usage?.total_tokens !== usage.total_tokens) throw new Error("The stream ended without its usage");
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
}
