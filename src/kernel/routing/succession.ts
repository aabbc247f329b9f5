import { type Caller, type Capability, GatewayError, isEnded, type Model } from "../../contract/index.ts";

/** What of a call decides which model it may use. */
export interface FindOptions {
  readonly capability: Capability;
  readonly caller: Caller;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  /** The id of the virtual model by whose name it was asked for. */
  readonly virtual?: string | undefined;
}

/** A chain of successors is followed this far; a longer one is a circle. */
const successionMax = 8;

/**
 * The model that answers for one that was asked for: itself, or while it has ended, the successor that its row sets.
 *
 * @throws {GatewayError} `model_not_found` naming the successor, when the model has ended and nothing answers for it.
 */
export function findSuccessor<Entry extends { readonly model: Model }>(
  asked: Entry,
  nowMs: number,
  byName: (name: string) => Entry | undefined,
): Entry {
  let entry = asked;
  for (let step = 0; isEnded(entry.model, nowMs); step++) {
    const { successor, whenRetired } = entry.model;
    const next = whenRetired === "successor" && successor !== undefined ? byName(successor) : undefined;
    if (next === undefined || step === successionMax) throw describeEnd(entry.model);
    entry = next;
  }
  return entry;
}

/** Why a model is no longer served, and what to ask for instead. */
function describeEnd({ id, retiredOn, successor }: Model): GatewayError {
  const advice = successor === undefined ? "GET /models lists what there is" : `use '${successor}' instead`;
  const sentence = `The model '${id}' was ended by its provider on ${retiredOn}: ${advice}`;
  return new GatewayError("model_not_found", sentence, { param: "model" });
}
