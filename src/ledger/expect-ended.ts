import type { Store } from "../store/index.ts";

/** @throws {Error} When the books do not know the call: settling it is a fault of the program. */
export async function expectEnded(store: Store, callId: string): Promise<void> {
  const [row] = await store.ask(store.db.selectFrom("calls").select("state").where("id", "=", callId).compile());
  if (row === undefined) throw new Error(`Cannot settle call ${callId}: it was never admitted`);
}
