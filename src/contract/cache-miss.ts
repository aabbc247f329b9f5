/**
 * Why a prompt, or a part of it, was not read from the provider's cache. The documentation has the same order.
 *
 * - `first_seen`: the session, or this conversation in it, has had no turn before
 * - `expired`: more time than the cache's lifetime has passed since the previous turn
 * - `tools`, `system`, `messages`: a block of these changed first
 * - `model`, `other_route`: another model answered, or another provider or key of one
 * - `settings`: a parameter changed that the cache depends on
 * - `below_minimum`: the part that came again is shorter than the provider keeps
 * - `not_marked`: the provider keeps what is marked alone, and nobody marked it
 * - `provider`: nothing changed, and it was in time
 */
export const cacheMissKinds = [
  "first_seen",
  "expired",
  "tools",
  "system",
  "messages",
  "model",
  "settings",
  "other_route",
  "below_minimum",
  "not_marked",
  "provider",
] as const;
export type CacheMissKind = (typeof cacheMissKinds)[number];

/** These cost nothing that a cache would have saved: there was nothing to be read yet. */
const costless: ReadonlySet<CacheMissKind> = new Set(["first_seen", "below_minimum"]);

/** Whether a cache would have saved money, had it not been for this. */
export function isLoss(kind: CacheMissKind): boolean {
  return !costless.has(kind);
}

/** A part of a prompt that a cache failed to give to a call. */
export interface CacheMiss {
  readonly kind: CacheMissKind;
  /** The part that changed, in the client's own terms, such as `tools[3]`, `input[7]` or `tool_choice`; absent: no part of the request. */
  readonly place?: string | undefined;
  /** Tokens of the prompt that were charged as if no cache had them. */
  readonly tokens: number;
}

/** The effect of prompt caches on the cost of a call, in nanodollars. */
export interface CacheEffect {
  readonly miss?: CacheMiss | undefined;
  /** Cost of the missed tokens beyond the rate of a cache; absent: none, or it is unknown. */
  readonly lostNanodollars?: number | undefined;
  /** Amount that the tokens read from a cache would have cost more as input; absent: none, or it is unknown. */
  readonly savedNanodollars?: number | undefined;
}

/** The last turn of a conversation as it is kept: bytes without any text of it. */
export interface StoredTurn {
  /** Names the conversation within its session. */
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** Keeps the last turns of sessions for an hour, as far as there is room. Neither method throws, and a promise does not reject. */
export interface TurnStore {
  read(session: string): readonly StoredTurn[] | Promise<readonly StoredTurn[] | undefined>;
  /** Puts a turn in the place of the one with its id. @param dropped Conversations that are given up for it. */
  write(session: string, turn: StoredTurn, dropped: readonly string[]): void;
}

/** How long a session is kept after its last turn. */
export const turnLifetimeMs = 3_600_000;
