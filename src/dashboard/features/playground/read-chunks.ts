import { ApiError } from "../../data/api.ts";
import type { ToolCallDelta } from "./chat-request.ts";

export interface ChunkUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  /** The cost in dollars; absent when it is not known. */
  readonly cost?: number;
}

/** The parts of a streamed chunk that are shown. */
interface Chunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly reasoning_content?: string | null;
      readonly tool_calls?: readonly ToolCallDelta[];
    };
  }[];
  readonly usage?: ChunkUsage | null;
  readonly error?: unknown;
}

/** Parses the chunks of a streamed chat. @throws {ApiError} If the stream ends with an error. */
export async function* readChunks({ body }: Response): AsyncGenerator<Chunk> {
  if (body === null) return;
  let rest = "";
  for await (const text of decodeText(body)) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data: ") || line === "data: [DONE]") continue;
      const chunk = JSON.parse(line.slice(6)) as Chunk;
      if (chunk.error !== undefined) throw new ApiError(500, chunk);
      yield chunk;
    }
  }
}

/** Not every browser supports `for await` over a stream. */
async function* decodeText(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
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
