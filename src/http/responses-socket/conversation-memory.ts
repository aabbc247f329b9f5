import type { ResponseItem } from "../../protocols/responses/schema.ts";
import type { MemoryReservation } from "../memory/call-memory.ts";

/** Most bytes that all conversations of a connection have together. */
const bytesMax = 8 * 1024 * 1024;
/** Most conversations of a connection. */
const conversationsMax = 32;

/** A conversation up to a response. */
interface Conversation {
  /** The items of all its turns, with the response's output at the end. */
  readonly items: readonly ResponseItem[];
  /** Their size as JSON, or more than that. */
  readonly bytes: number;
}

/**
 * Remembers the last response of each lane of a connection, with all items before it. The next turn can then continue a response
 * that is not stored (`store: false`). The least recently used conversations are forgotten first.
 */
export class ConversationMemory {
  readonly #reservation: MemoryReservation;
  /** The key is the lane; the least recently used is first. */
  readonly #byLane = new Map<string | undefined, Conversation & { id: string }>();
  /** Input that a provider keeps for the turn after a response, by the id of that. */
  readonly #queued = new Map<string, { items: readonly ResponseItem[]; bytes: number }>();
  #bytes = 0;

  /** @param reservation Counts the conversations; it is released with the connection. */
  constructor(reservation: MemoryReservation) {
    this.#reservation = reservation;
  }

  /** The conversation up to a response of any lane; absent: it is not remembered. */
  find(responseId: string | null | undefined): Conversation | undefined {
    for (const conversation of this.#byLane.values()) if (conversation.id === responseId) return conversation;
    return undefined;
  }

  /** Replaces the last response of a lane. A conversation that is too large, or has no room, is not remembered. */
  keep(lane: string | undefined, id: string, { items, bytes }: Conversation): void {
    this.#forget(lane);
    if (bytes > bytesMax) return;
    for (const oldest of this.#byLane.keys()) {
      if (this.#bytes + bytes <= bytesMax && this.#byLane.size < conversationsMax) break;
      this.#forget(oldest);
    }
    try {
      this.#reservation.grow(bytes);
    } catch {
      // The account has its share of the memory. The client sends the whole conversation once.
      return;
    }
    this.#byLane.set(lane, { id, items, bytes });
    this.#bytes += bytes;
  }

  /** Adds input to what the turn after a response begins with. @throws {GatewayError} When there is no room. */
  queue(responseId: string, items: readonly ResponseItem[], bytes: number): void {
    const before = this.#queued.get(responseId);
    if (before === undefined && this.#queued.size >= conversationsMax) throw new RangeError("Too much input waits");
    this.#reservation.grow(bytes);
    const all = { items: [...(before?.items ?? []), ...items], bytes: bytes + (before?.bytes ?? 0) };
    this.#queued.set(responseId, all);
  }

  queuedAfter(responseId: unknown): readonly ResponseItem[] {
    return (typeof responseId === "string" && this.#queued.get(responseId)?.items) || [];
  }

  /** The turn after the response has its input. */
  unqueue(responseId: string | null | undefined): void {
    if (!responseId) return;
    this.#reservation.shrink(this.#queued.get(responseId)?.bytes ?? 0);
    this.#queued.delete(responseId);
  }

  release(): void {
    this.#byLane.clear();
    this.#queued.clear();
    this.#reservation.release();
  }

  #forget(lane: string | undefined): void {
    const conversation = this.#byLane.get(lane);
    if (conversation === undefined) return;
    this.#byLane.delete(lane);
    this.#bytes -= conversation.bytes;
    this.#reservation.shrink(conversation.bytes);
  }
}
