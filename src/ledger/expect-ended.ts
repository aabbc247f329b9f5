import type { Store } from "../store/index.ts";

/** @throws {Error} When the books do not know the call: settling it is a fault of the program. */
export async function expectEnded({ db }: Store, callId: string): Promise<void> {
  const row = await db.selectFrom("calls").select("state").where("id", "=", callId).executeTakeFirst();
  if (row === undefined) throw new Error(`Cannot settle call ${callId}: it was never admitted`);
}
