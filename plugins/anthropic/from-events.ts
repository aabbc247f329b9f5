import { type ChatChunk, faultOfBody, isRecord, type ServerEvent, UpstreamFault } from "modelgate/plugin";
import { type StreamEvent, StreamedAnswer } from "./streamed-answer.ts";
import type { Reading } from "./wire.ts";

/**
 * Translates a stream, in the order in which OpenAI sends its chunks. Where it breaks, a last chunk says what it has
 * cost as far as that is known.
 *
 * @throws {UpstreamFault} When the stream carries an error, cannot be read, or ends before its message does.
 */
export async function* fromEvents(events: AsyncIterable<ServerEvent>, reading: Reading): AsyncGenerator<ChatChunk> {
  const answer = new StreamedAnswer(reading);
  try {
    for await (const { data } of events) {
      // What follows the end is read and dropped, so that the connection can be used again.
      if (answer.complete) continue;
      const event = parse(data);
      if (event.type === "error") throw faultOfBody(event);
      answer.take(event);
      for (const chunk of answer.chunks) yield chunk;
      answer.chunks.length = 0;
    }
    if (!answer.complete) throw new UpstreamFault("broken", "The provider's stream ended before the answer did");
  } catch (error) {
    if (answer.complete) return;
    const usage = answer.usage;
    if (usage !== undefined) yield { choices: [], usage };
    throw error;
  }
}

function parse(data: string): StreamEvent {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch (cause) {
    throw new UpstreamFault("broken", "The provider's stream holds an event that is not JSON", { cause });
  }
  if (isRecord(event)) return event;
  throw new UpstreamFault("broken", "The provider's stream holds an event that is no object");
}
