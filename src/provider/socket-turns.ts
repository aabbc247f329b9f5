/**
 * How a protocol asks for answers over a WebSocket that stays open between the turns of a conversation. The gateway keeps the socket;
 * the protocol writes the frames and reads the messages.
 */
export interface SocketTurns {
  /** Headers of the handshake. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The frame that asks for a turn.
   *
   * @param body The request as it would be sent by POST.
   * @param before The last turn of this socket, which its provider remembers; absent: it remembers no turn.
   */
  toFrame(body: Readonly<Record<string, unknown>>, before: SocketTurn | undefined): SocketFrame;
  read(message: string): SocketMessage;
  /** The frame that adds input to a response while it runs. */
  toSteering(responseId: string, input: readonly unknown[]): Record<string, unknown>;
  /**
   * The turn of a last message, for a later one to continue; `undefined` where it cannot be continued.
   *
   * @param itemCount How many items the answer had until then.
   */
  toTurn(
    body: Readonly<Record<string, unknown>>,
    last: Readonly<Record<string, unknown>>,
    itemCount: number,
  ): SocketTurn | undefined;
}

export interface SocketFrame {
  readonly frame: Record<string, unknown>;
  /** It continues the turn before, and has only what came since. */
  readonly continues: boolean;
}

/** A turn that a provider remembers for its socket. */
export interface SocketTurn {
  readonly id: string;
  readonly model: unknown;
  /** The conversation as it was sent, and as it was answered. */
  readonly items: readonly unknown[];
}

/** A message of a provider: a part of an answer, its beginning, the end of one of its items, its own end, or a refusal in place of one. */
export type SocketMessage =
  | { readonly kind: "piece" }
  | { readonly kind: "item" }
  | { readonly kind: "begun"; readonly id: string }
  | SteeringMessage
  | { readonly kind: "last"; readonly event: Record<string, unknown> }
  | {
      readonly kind: "refusal";
      /** As the response to a POST would have it. */
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      /** `forgotten`: the provider does not remember the last turn. `ended`: it takes no more turns by this socket. */
      readonly reason: "forgotten" | "ended" | undefined;
    };

/**
 * A message on input that steers a response: the provider has it, does not take it, or keeps it for the next turn, because the response
 * waits for results of tools.
 */
export interface SteeringMessage {
  readonly kind: "accepted" | "failed" | "pending";
  /** The response that is steered. */
  readonly responseId: string;
}
