import type { GatewayError } from "../../contract/index.ts";
import { isRecord, readJson } from "../../lib/json.ts";
import type { PassedAnswer, ServerEvent } from "../../provider/index.ts";
import type { NamedEvent } from "../inbound.ts";
import { type ResponseEvent, toHeartbeat } from "./client-stream.ts";
import { toPassedFailure } from "./errors.ts";
import { responsesFormat } from "./passthrough.ts";

/**
 * The stream of a provider that speaks the protocol, as the client gets it. As a rule each event is sent as it came. Where the
 * provider was silent for so long that the gateway began the answer itself, the provider's own beginning is left out, and
 * its events follow under the id that was sent and by numbers that go on: clients refuse an answer whose id changes.
 */
export class PassedStream {
  /** The head with which the gateway began the answer, and the number of the last event; absent: the provider begins it. */
  #begun: { readonly response: Record<string, unknown>; sequence: number } | undefined;

  /** Takes the events with which the gateway began the answer. */
  follow(events: readonly ResponseEvent[]): void {
    const last = events.at(-1);
    if (isRecord(last?.response)) this.#begun ??= { response: last.response, sequence: last.sequence_number };
  }

  /** @returns `undefined` for an event of the provider's own beginning that is not sent. */
  pass(event: ServerEvent): ServerEvent | undefined {
    const begun = this.#begun;
    if (begun === undefined) return event;
    const part = readJson(event.data, "event") as Record<string, unknown>;
    if (responsesFormat.isPrelude(part.type)) return undefined;
    if (typeof part.sequence_number === "number") {
      begun.sequence = Math.max(part.sequence_number, begun.sequence + 1);
      part.sequence_number = begun.sequence;
    }
    if (isRecord(part.response)) part.response.id = begun.response.id;
    return { event: event.event, data: JSON.stringify(part) };
  }

  /** @returns `undefined` where no answer has begun that could be said to go on. */
  heartbeat({ head, sequence }: PassedAnswer = { sequence: 0 }): NamedEvent | undefined {
    const begun = this.#begun;
    if (begun !== undefined) return toHeartbeat(begun.response, begun.sequence);
    return head === undefined ? undefined : toHeartbeat(head, sequence);
  }

  /**
   * The event that ends a stream which broke off.
   *
   * @param own A head of the gateway's, for a provider that sent none.
   */
  fail(error: GatewayError, own: object, { head, sequence }: PassedAnswer = { sequence: 0 }): NamedEvent {
    const begun = this.#begun;
    if (begun === undefined) return toPassedFailure(error, head ?? own, sequence);
    return toPassedFailure(error, { ...begun.response, ...head, id: begun.response.id }, begun.sequence);
  }
}
