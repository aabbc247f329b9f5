import type { ChatChunk, ChatCompletion, Model } from "modelgate/plugin";
import rows from "../../../../catalogue/gemini.json" with { type: "json" };
import { LruMap } from "../../../../src/lib/lru-map.ts";
import type { CallReading } from "../../../../src/protocols/generate-content/tools.ts";
import type { ToolCall } from "../../../../src/provider/index.ts";

const models = rows.models as Model[];

/** The catalogue's row of a model by its name upstream; of one that has none, the row of its kind. */
export function modelAt(upstreamId: string): Model {
  const kind = upstreamId.startsWith("gemini-3") ? "gemini-3-flash-preview" : "gemini-2.0-flash";
  const model = models.find((row) => row.upstreamId === upstreamId) ?? models.find((row) => row.upstreamId === kind);
  if (model === undefined) throw new Error(`No row for ${upstreamId}`);
  return { ...model, upstreamId };
}

/** How answers are read in tests: ids are counted. */
export function counting(firstOnly = false): CallReading {
  let calls = 0;
  return { firstOnly, signatures: new LruMap(100), newId: () => `call_${++calls}` };
}

/** What a stream amounts to, in the shape of a completion. */
export function assemble(chunks: ChatChunk[]): ChatCompletion {
  const choices: ChatCompletion["choices"] = [];
  let usage: ChatCompletion["usage"];
  let tier: unknown;
  for (const chunk of chunks) {
    usage = chunk.usage ?? usage;
    tier = chunk.service_tier ?? tier;
    for (const { index, delta, finish_reason: finish } of chunk.choices) {
      let choice = choices.find((known) => known.index === index);
      if (choice === undefined) {
        choice = { index, message: { role: "assistant", content: null }, finish_reason: null };
        choices.push(choice);
      }
      const { message } = choice;
      if (delta.content) message.content = (message.content ?? "") + delta.content;
      if (delta.reasoning_content)
        message.reasoning_content = (message.reasoning_content ?? "") + delta.reasoning_content;
      for (const { index: place, ...call } of delta.tool_calls ?? []) {
        message.tool_calls ??= [];
        message.tool_calls[place as number] = call as ToolCall;
      }
      choice.finish_reason = finish ?? choice.finish_reason;
    }
  }
  const completion: ChatCompletion = { id: "", object: "chat.completion", created: 0, model: "", choices };
  return Object.assign(completion, usage && { usage }, tier !== undefined && { service_tier: tier });
}
