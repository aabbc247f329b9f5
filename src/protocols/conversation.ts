import { CallIds } from "../lib/call-ids.ts";
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
  readonly results = new Map<ToolCall, Message>();

  /**
   * The message and the results in the order of their calls, each call with an id of its own. Reasoning alone is nothing that a model
   * could go on from.
   */
  toMessages(): Message[] {
    const { parts, reasoning, details } = this;
    if (parts.length === 0 && this.calls.length === 0) return [];
    const ids = new CallIds();
    const calls: ToolCall[] = [];
    const results: Message[] = [];
    for (const call of this.calls) {
      const id = ids.take(call.id);
      calls.push(id === call.id ? call : { ...call, id });
      const result = this.results.get(call);
      if (result !== undefined) results.push({ ...result, tool_call_id: id });
    }
    const message: Message = {
      role: "assistant",
      content: toContent(parts) ?? null,
      ...(reasoning !== "" && { reasoning_content: reasoning }),
      ...(details.length > 0 && { reasoning_details: details }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    return [message, ...results];
  }
}

/** A call that waits for its result. */
interface OpenCall {
  readonly turn: AssistantTurn;
  readonly call: ToolCall;
  /** Its place in the request. */
  readonly path: string;
  /** Whether a call with its id waited when it came. */
  readonly isRepeated: boolean;
}

/** The calls of one turn that have the same id. */
interface OpenCalls {
  readonly turn: AssistantTurn;
  readonly calls: OpenCall[];
  /** How many of them have their results: the first ones. */
  answered: number;
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
  /** The calls that wait for their results, oldest first. */
  readonly #open = new Set<OpenCall>();
  /** The same calls by id and turn. The id of an earlier call that is answered has none. */
  readonly #openById = new Map<string, OpenCalls[]>();

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

  addCall(turn: AssistantTurn, call: ToolCall, path: string): void {
    turn.calls.push(call);
    const turns = this.#openById.get(call.id) ?? [];
    const open = { turn, call, path, isRepeated: turns.length > 0 };
    const last = turns.at(-1);
    if (last?.turn === turn) last.calls.push(open);
    else turns.push({ turn, calls: [open], answered: 0 });
    this.#openById.set(call.id, turns);
    this.#open.add(open);
  }

  /** Whether there is an earlier call with this id, answered or not. */
  hasCall(id: string): boolean {
    return this.#openById.has(id);
  }

  /**
   * Adds the result of the nearest call with its id. Where an answer has several calls with it, they get their results in turn.
   *
   * @returns False when no call with this id waits for its result.
   */
  addResult(id: string, result: Omit<Message, "role" | "tool_call_id">): boolean {
    const turns = this.#openById.get(id) ?? [];
    const last = turns.at(-1);
    const open = last?.calls[last.answered++];
    if (last === undefined || open === undefined) return false;
    if (last.answered === last.calls.length) turns.pop();
    this.#open.delete(open);
    last.turn.results.set(open.call, { role: "tool", tool_call_id: id, ...result });
    return true;
  }

  /** A call that waits for its result: one with an id that others have, otherwise the oldest. */
  findOpenCall(): { readonly id: string; readonly path: string; readonly isRepeated: boolean } | undefined {
    const open = [...this.#open];
    const first = open.find(({ isRepeated }) => isRepeated) ?? open[0];
    return first && { id: first.call.id, path: first.path, isRepeated: first.isRepeated };
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
