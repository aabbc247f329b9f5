import { getToolResults, type Message, readArguments, resultWithoutCall, type ToolCall } from "modelgate/plugin";
import { badRequest, toBlocks } from "./parts.ts";
import { readDetails } from "./reasoning.ts";
import type { Block, Turn } from "./wire.ts";

/**
 * Sorts messages into the system text and turns that alternate, each call's results first in theirs. Thoughts that the
 * client brought back go along only while the model is to think.
 */
export function toTurns(messages: readonly Message[], thinks: boolean): { system: Block[]; turns: Turn[] } {
  const system: Block[] = [];
  const turns: Turn[] = [];
  const ids = new Set<string>();
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as Message;
    const { role, tool_calls: calls } = message;
    const path = `messages[${index}]`;
    if (role === "tool" || role === "function") throw resultWithoutCall(`${path}.tool_call_id`);
    const blocks = toBlocks(message.content, `${path}.content`, role === "user" ? "media" : "text");
    if (role === "system" || role === "developer") system.push(...blocks);
    else if (role === "user") append(turns, role, blocks);
    else {
      const called = (calls ?? []).map((call, place) => toCall(call, ids, `${path}.tool_calls[${place}]`));
      append(turns, role, [...(thinks ? readDetails(message) : []), ...blocks, ...called]);
      append(turns, "user", toResults(messages, index, called));
      if (called.length > 0) while (messages[index + 1]?.role === "tool") index++;
    }
  }
  const last = turns.at(-1);
  const end = last?.role === "assistant" ? last.content.at(-1) : undefined;
  // A turn that the model is to go on with may not end in white space.
  if (end?.text !== undefined) end.text = end.text.trimEnd();
  if (last !== undefined) return { system, turns };
  if (system.length === 0)
    throw badRequest("The messages hold nothing, expected text or another part in one", "messages");
  return { system: [], turns: [{ role: "user", content: system }] };
}

function append(turns: Turn[], role: Turn["role"], blocks: Block[]): void {
  const last = turns.at(-1);
  if (last?.role === role) last.content.push(...blocks);
  else if (blocks.length > 0) turns.push({ role, content: blocks });
}

/** The provider wants ids of a plain alphabet, each once; clients bring those of others, and use them again. */
function toCall(call: ToolCall, ids: Set<string>, path: string): Block {
  let id = call.id.replace(/[^a-zA-Z0-9_-]/g, "_");
  while (ids.has(id)) id += "_";
  ids.add(id);
  return { type: "tool_use", id, name: call.function.name, input: readArguments(call, path) };
}

function toResults(messages: readonly Message[], index: number, calls: Block[]): Block[] {
  return getToolResults(messages, index).map((result, place) => {
    const content = toBlocks(result.message.content, `messages[${result.index}].content`, "media");
    return { type: "tool_result", tool_use_id: calls[place]?.id, content: content.length > 0 ? content : undefined };
  });
}
