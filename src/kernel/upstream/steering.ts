import { GatewayError } from "../../contract/index.ts";
import type { SteeringMessage } from "../../provider/index.ts";

/**
 * Input for a response that runs on a WebSocket to its provider. The provider begins another response with it, which is a call of its
 * own. That call holds what it may cost before the input is passed on.
 */
export interface Steering {
  /** The response that is steered. */
  readonly responseId: string;
  readonly input: readonly unknown[];
  /** The most tokens of that response, which the next one reads. */
  readonly answerTokensMax: number;
  /** The tokens of that response, once they were counted. */
  answerTokens(): number;
  /** Takes the provider's word on the input. */
  onWord(kind: SteeringMessage["kind"], text: string): void;
  /** The next response has begun. */
  onBegun(): void;
}

/** The refusal of input that no response was made of. It costs nothing. */
export function notSteered(code: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { publicCode: code });
}
