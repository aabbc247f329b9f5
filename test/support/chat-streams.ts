import type { EventStreamParser } from "../../src/lib/aws-event-stream.ts";
import { SseParser } from "../../src/lib/sse.ts";
import type { AnswerStream, ChatChunk, ServerEvent } from "../../src/provider/index.ts";

/** The events of a body whose bytes arrive in pieces: server-sent events, or what another parser reads. */
export async function* readEvents(
  pieces: AsyncIterable<Uint8Array>,
  parser: Pick<SseParser, "push" | "end"> | EventStreamParser = new SseParser(),
): AsyncGenerator<ServerEvent> {
  for await (const piece of pieces) yield* parser.push(piece);
  yield* parser.end();
}

/** The pieces of a handler's stream, as the gateway reads it. What came before an error is given out before it. */
export async function* chunksOf<Event, Piece = ChatChunk>(stream: AnswerStream<Piece, Event>): AsyncGenerator<Piece> {
  try {
    for await (const event of stream.events) {
      yield* stream.push(event);
      if (stream.isComplete) break;
    }
    yield* stream.end();
  } catch (error) {
    yield* stream.breakOff?.() ?? [];
    throw error;
  }
}

/** Whether a handler streams. */
export function isStream<Piece = ChatChunk>(answer: object | undefined): answer is AnswerStream<Piece> {
  return answer !== undefined && "push" in answer;
}
