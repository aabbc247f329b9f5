import type { Store } from "../db/index.ts";

/** What was found open at the start and how it was ended. */
export interface Recovery {
  /** Calls ended without a charge. */
  released: number;
  /** What these calls held: the most that their providers may bill for them. */
  heldNanodollars: number;
  heldTokens: number;
  /** Their ids, the first hundred. */
  callIds: string[];
}

const idsMax = 100;

/**
 * Ends the calls that a dead process left open. The policy: such a call becomes `abandoned` and pays nothing. Its
 * caller never got the last byte, because that waits for the charge, and the usage is unknown. The operator bears at most
 * `heldNanodollars`, which is logged, and finds the calls by their state.
 * Should the process live after all, its settle still charges the call, once.
 */
export async function recoverCalls(store: Store, now: number): Promise<Recovery> {
  const calls = await store.abandonCalls(now);
  return {
    released: calls.length,
    heldNanodollars: calls.reduce((sum, call) => sum + call.hold_nanodollars, 0),
    heldTokens: calls.reduce((sum, call) => sum + call.hold_tokens, 0),
    callIds: calls.slice(0, idsMax).map((call) => call.id),
  };
}
