import type { Message } from "modelgate/plugin";
import { CallPairs, legacyId } from "./call-pairs.ts";
import { refuse, toBlocks } from "./parts.ts";
import { readDetails } from "./reasoning.ts";
import type { Block, Turn } from "./wire.ts";

/**
 * Sorts messages into the system text and turns that alternate, each call's results first in theirs. Thoughts that the
 * client brought back go along only while the model is to think.
 */
export function toTurns(messages: readonly Message[], thinks: boolean): { system: Block[]; turns: Turn[] } {
  const system: Block[] = [];
  const turns: Turn[] = [];
  const pairs = new CallPairs();
  for (const [index, message] of messages.entries()) {
    const { role } = message;
    const path = `messages[${index}]`;
    const takes = role === "system" || role === "developer" || role === "assistant" ? "text" : "media";
    const blocks = toBlocks(message.content, `${path}.content`, takes);
    if (role === "system" || role === "developer") system.push(...blocks);
    else if (role === "user") append(turns, role, blocks);
    else if (role === "assistant") {
      if (turns.at(-1)?.role === "user") pairs.settle();
      append(turns, role, [...(thinks ? readDetails(message) : []), ...blocks, ...toCalls(message, pairs, path)]);
    } else {
      const content = blocks.length > 0 ? blocks : undefined;
      append(turns, "user", [{ type: "tool_result", tool_use_id: pairs.close(message, path), content }]);
    }
  }
  pairs.settle();
  const end = turns.at(-1)?.role === "assistant" ? turns.at(-1)?.content.at(-1) : undefined;
  // A turn that the model is to go on with may not end in white space.
  if (end?.text !== undefined) end.text = end.text.trimEnd();
  if (turns.length > 0) return { system, turns };
  if (system.length === 0) throw refuse("The messages hold nothing, expected text or another part in one", "messages");
  return { system: [], turns: [{ role: "user", content: system }] };
}

function append(turns: Turn[], role: Turn["role"], blocks: Block[]): void {
  if (blocks.length === 0) return;
  const last = turns.at(-1);
  if (last?.role !== role) {
    turns.push({ role, content: blocks });
    return;
  }
  const place =
    blocks[0]?.type === "tool_result" ? last.content.findIndex((block) => block.type !== "tool_result") : -1;
  last.content.splice(place === -1 ? last.content.length : place, 0, ...blocks);
}

function toCalls(message: Message, pairs: CallPairs, path: string): Block[] {
  const calls = (message.tool_calls ?? []).map(({ id, function: called }, index) => {
    const place = `${path}.tool_calls[${index}]`;
    return toCall(pairs.open(id, place), called, `${place}.function.arguments`);
  });
  const legacy = message.function_call;
  if (!legacy) return calls;
  const id = pairs.open(legacyId(legacy.name), `${path}.function_call`);
  return [...calls, toCall(id, legacy, `${path}.function_call.arguments`)];
}

function toCall(id: string, { name, arguments: text }: { name: string; arguments: string }, path: string): Block {
  let input: unknown;
  try {
    input = text.trim() === "" ? {} : JSON.parse(text);
  } catch (cause) {
    throw refuse(`Cannot read these arguments, expected the JSON text of an object: ${(cause as Error).message}`, path);
  }
  if (typeof input === "object" && input !== null && !Array.isArray(input))
    return { type: "tool_use", id, name, input };
  throw refuse("Cannot use these arguments, expected the JSON text of an object", path);
}
