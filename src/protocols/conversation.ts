import type { ContentPart, Message, ToolCall } from "../provider/index.ts";

/** A part of the uniform format, with the cache mark of the block or part that it was. */
export type MarkedPart = ContentPart & { cache_control?: unknown };

/** One answer of the model: its content, reasoning and calls, and the results of the calls. */
export class AssistantTurn {
  readonly parts: MarkedPart[] = [];
  readonly calls: ToolCall[] = [];
  /** Reasoning in words. */
  reasoning = "";
  /** Reasoning as its provider sealed it: `reasoning_details` of the uniform format. */
  readonly details: unknown[] = [];
  readonly results = new Map<string, Message>();

  /** The message and the results in the order of their calls. Reasoning alone is nothing that a model could go on from. */
  toMessages(): Message[] {
    const { parts, calls, reasoning, details } = this;
    if (parts.length === 0 && calls.length === 0) return [];
    const message: Message = {
      role: "assistant",
      content: toContent(parts) ?? null,
      ...(reasoning !== "" && { reasoning_content: reasoning }),
      ...(details.length > 0 && { reasoning_details: details }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    return [message, ...calls.flatMap(({ id }) => this.results.get(id) ?? [])];
  }
}

/**
 * Assembles a conversation of another format as messages of the uniform format. Results follow directly after the
 * message with their calls, wherever the client put them. The caller throws the errors, because they name places of its
 * format.
 *
 * @example
 * const conversation = new Conversation();
 * conversation.add("user", "Hi");
 * conversation.turn().parts.push({ type: "text", text: "Hello" });
 * conversation.toMessages().length; // => 2
 */
export class Conversation {
  readonly #entries: (Message | AssistantTurn)[] = [];
  /** The turn of each call, by its id. */
  readonly #turns = new Map<string, AssistantTurn>();
  /** The places of calls that wait for their results, by id, oldest first. */
  readonly #open = new Map<string, string>();

  add(role: "system" | "user", content: string | MarkedPart[]): void {
    this.#entries.push({ role, content });
  }

  /** The turn that goes on: the first result closes it, and anything that the model did not say. */
  turn(): AssistantTurn {
    const last = this.#entries.at(-1);
    return last instanceof AssistantTurn && last.results.size === 0 ? last : this.beginTurn();
  }

  beginTurn(): AssistantTurn {
    const turn = new AssistantTurn();
    this.#entries.push(turn);
    return turn;
  }

  /** @returns False when a call with this id waits for its result already. */
  addCall(turn: AssistantTurn, call: ToolCall, path: string): boolean {
    if (this.#open.has(call.id)) return false;
    turn.calls.push(call);
    this.#turns.set(call.id, turn);
    this.#open.set(call.id, path);
    return true;
  }

  /** Whether there is an earlier call with this id, answered or not. */
  hasCall(id: string): boolean {
    return this.#turns.has(id);
  }

  /** @returns False when no call with this id waits for its result. */
  addResult(id: string, result: Omit<Message, "role" | "tool_call_id">): boolean {
    if (!this.#open.delete(id)) return false;
    this.#turns.get(id)?.results.set(id, { role: "tool", tool_call_id: id, ...result });
    return true;
  }

  /** The oldest call that waits for its result. */
  findOpenCall(): { readonly id: string; readonly path: string } | undefined {
    const [call] = this.#open;
    return call && { id: call[0], path: call[1] };
  }

  toMessages(): Message[] {
    return this.#entries.flatMap((entry) => (entry instanceof AssistantTurn ? entry.toMessages() : entry));
  }
}

/** Parts as the content of a message: one text without a mark is a plain string, which every provider takes. */
export function toContent(parts: MarkedPart[]): string | MarkedPart[] | undefined {
  const [first, second] = parts;
  if (first === undefined) return undefined;
  return second === undefined && first.type === "text" && first.cache_control === undefined ? first.text : parts;
}
