import { type ChatChunk, parseJson, type ServerEvent, UpstreamFault } from "modelgate/plugin";
import { candidatesOf, type Given, toDeltas, toFinish, toLogprobs, toUsage } from "./answer.ts";
import { faultOf } from "./fault.ts";
import type { CallReading } from "./tool-calls.ts";
import type { GenerateAnswer } from "./wire.ts";

/**
 * A streamed answer. Each event is a whole answer with the next parts. The usage so far goes along with every chunk, so
 * that a broken stream can be charged by it.
 *
 * @throws {UpstreamFault} When the stream holds an error, is no JSON, or ends before the model has finished.
 */
export async function* fromEvents(events: AsyncIterable<ServerEvent>, reading: CallReading): AsyncGenerator<ChatChunk> {
  const choices = new Map<number, Given>();
  let usage: GenerateAnswer["usageMetadata"];
  for await (const event of events) {
    const answer = readEvent(event);
    const candidates = candidatesOf(answer);
    usage = answer.usageMetadata ?? usage;
    const usageSoFar = toUsage(usage, true);
    for (const candidate of candidates) {
      const index = candidate.index ?? 0;
      let given = choices.get(index);
      if (given === undefined) {
        given = { text: false, calls: 0 };
        choices.set(index, given);
        yield { choices: [{ index, delta: { role: "assistant", content: "" } }] };
      }
      let logprobs = toLogprobs(candidate);
      for (const delta of toDeltas(candidate, given, reading)) {
        const chunk: ChatChunk = { choices: [{ index, delta, logprobs: delta.content ? logprobs : undefined }] };
        if (delta.content) logprobs = undefined;
        if (usageSoFar !== undefined) chunk.usage = usageSoFar;
        yield chunk;
      }
    }
  }
  const ended = [...choices];
  if (ended.length === 0 || ended.some(([, given]) => given.reason === undefined)) {
    throw new UpstreamFault("bad_response", "The provider's stream ended before the answer was complete");
  }
  // Only now: some models name a reason on every event, and the last stands.
  for (const [index, given] of ended) yield { choices: [{ index, delta: {}, finish_reason: toFinish(given) }] };
  const hasOutput = ended.some(([, { text, calls }]) => text || calls > 0);
  const total = toUsage(usage, hasOutput);
  if (total !== undefined) yield { choices: [], usage: total };
}

function readEvent({ event, data }: ServerEvent): GenerateAnswer {
  const answer = parseJson(data);
  if (event === "raw") throw faultOf(answer ?? data);
  if (answer !== undefined) return answer as GenerateAnswer;
  throw new UpstreamFault("bad_response", "A piece of the provider's stream is not JSON");
}
