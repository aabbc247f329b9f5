import { GatewayError } from "../contract/index.ts";
import { inTime } from "../ledger/index.ts";
import type { HttpGround } from "./ground.ts";
import { warnSeldom } from "./warn-seldom.ts";

/** Longer than a busy store takes, and no longer than a person waits. */
const storeMsMax = 2000;

/**
 * What the store says, for somebody at a page: where it is silent they hear of it soon, and nobody hangs.
 *
 * @throws {GatewayError} `unavailable` when it fails, or says nothing within two seconds.
 */
export async function storeInTime<Answer>(ground: HttpGround, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await inTime(answer, storeMsMax);
  } catch (error) {
    warnSeldom(ground, "store_not_read", error);
    const sentence = "The gateway's database does not answer, and nothing was changed; try again";
    throw new GatewayError("unavailable", sentence, { retryAfterMs: 1000, cause: error });
  }
}
