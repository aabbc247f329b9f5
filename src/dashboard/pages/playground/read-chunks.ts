import { Refusal } from "../../data/api.ts";

/** As much of a piece of a streamed chat as is shown. */
export interface Chunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly reasoning_content?: string | null };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
  readonly error?: unknown;
}

/** The pieces of a streamed chat, as they come. @throws {Refusal} When the stream ends in an error. */
export async function* readChunks(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Chunk> {
  let rest = "";
  for await (const text of textOf(body)) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data: ") || line === "data: [DONE]") continue;
      const chunk = JSON.parse(line.slice(6)) as Chunk;
      if (chunk.error !== undefined) throw new Refusal(500, chunk);
      yield chunk;
    }
  }
}

/** Not every browser lets a stream be gone through by `for await`. */
async function* textOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
