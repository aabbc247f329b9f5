import type { Message } from "modelgate/plugin";
import { refuse } from "./parts.ts";

/**
 * Pairs tool calls with their results. The provider wants ids of a plain alphabet, each once in a conversation, and
 * every call answered in the turn after it; clients bring ids of other providers, and some use them again.
 */
export class CallPairs {
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

  /** Closes the call that a `tool` or `function` message answers and returns its id upstream. */
  close(message: Message, path: string): string {
    const field = message.role === "function" ? "name" : "tool_call_id";
    const id = message.role === "function" ? legacyId(message.name) : (message.tool_call_id ?? "");
    const call = this.#open.get(id);
    if (call === undefined) {
      throw refuse(`This result answers no open call, expected the ${field} of one just before it`, `${path}.${field}`);
    }
    this.#open.delete(id);
    return call.wireId;
  }

  /** @throws {GatewayError} When a call was left without a result. */
  settle(): void {
    for (const { path } of this.#open.values()) throw refuse("This call has no result, expected one right after", path);
  }
}

/** A `function_call` has no id of its own; its function's name stands for it. */
export function legacyId(name: string | null | undefined): string {
  return `call_${name}`;
}
