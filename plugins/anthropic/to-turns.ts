import { isRecord, type Message, type ToolCall } from "modelgate/plugin";
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
      const calls = (message.tool_calls ?? []).map((call, place) =>
        toCall(call, pairs, `${path}.tool_calls[${place}]`),
      );
      append(turns, role, [...(thinks ? readDetails(message) : []), ...blocks, ...calls]);
    } else {
      const content = blocks.length > 0 ? blocks : undefined;
      append(turns, "user", [
        { type: "tool_result", tool_use_id: pairs.close(message, `${path}.tool_call_id`), content },
      ]);
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

function toCall({ id, function: called }: ToolCall, pairs: CallPairs, path: string): Block {
  const wireId = pairs.open(id, path);
  let input: unknown;
  try {
    input = called.arguments.trim() === "" ? {} : JSON.parse(called.arguments);
  } catch (cause) {
    const message = `Cannot read these arguments, expected the JSON text of an object: ${(cause as Error).message}`;
    throw refuse(message, `${path}.function.arguments`);
  }
  if (isRecord(input)) return { type: "tool_use", id: wireId, name: called.name, input };
  throw refuse("Cannot use these arguments, expected the JSON text of an object", `${path}.function.arguments`);
}

/**
 * Pairs tool calls with their results. The provider wants ids of a plain alphabet, each once in a conversation, and
 * every call answered in the turn after it; clients bring ids of other providers, and some use them again.
 */
class CallPairs {
  readonly #taken = new Set<string>();
  readonly #open = new Map<string, { wireId: string; path: string }>();

  /** Opens a call and returns the id it goes by upstream. */
  open(id: string, path: string): string {
    if (this.#open.has(id)) throw refuse(`Tool call id ${id} stands twice in one turn, expected each once`, path);
    let wireId = id.replace(/[^a-zA-Z0-9_-]/g, "_");
    while (this.#taken.has(wireId)) wireId += "_";
    this.#taken.add(wireId);
    this.#open.set(id, { wireId, path });
    return wireId;
  }

  /** Closes the call that a message answers and returns its id upstream. */
  close({ tool_call_id: id }: Message, path: string): string {
    const call = this.#open.get(id ?? "");
    if (call === undefined) throw refuse("This result answers no open call, expected the id of one before it", path);
    this.#open.delete(id ?? "");
    return call.wireId;
  }

  /** @throws {GatewayError} When a call was left without a result. */
  settle(): void {
    for (const { path } of this.#open.values()) throw refuse("This call has no result, expected one right after", path);
  }
}
