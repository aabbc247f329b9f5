/** An attempt that failed, as the request log shows it. */
export interface FailedAttempt {
  readonly plugin: string;
  readonly duration_ms: number;
  /** The kind of an upstream error, or the code of the gateway's own error. */
  readonly error: string;
  /** The HTTP status of the provider; absent: it sent none. */
  readonly status?: number | undefined;
  /** The provider's own words, which may name the operator's account: for administrators. */
  readonly message: string;
}

/**
 * Says who marked the prompt of a call for a cache: the gateway marked its prompt (`marked`); the client did (`client`); or the
 * gateway did not, because marks are off (`off`), the prompt is shorter than what its provider caches (`short`), marks cost the
 * key more than they saved (`losing`), or the provider does not take them (`refused`).
 */
export type CacheMarks = "marked" | "client" | "off" | "short" | "losing" | "refused";

/**
 * Details of a call that have no column of their own in the request log, as they are stored. An absent field did not
 * happen.
 */
export interface CallDetail {
  /** Name that the client sent, if another model served the call, as for a virtual model. */
  readonly requested?: string | undefined;
  readonly stream?: true | undefined;
  /** The service tier whose rates it was charged by, if that is another than the model's own. */
  readonly tier?: string | undefined;
  /** The finish reason of each choice. */
  readonly finish?: readonly string[] | undefined;
  /** The message that the caller was given. */
  readonly error?: string | undefined;
  readonly attempts?: readonly FailedAttempt[] | undefined;
  /** The providers of its model, if the call was not sent because all of them were paused after failures. */
  readonly paused?: readonly string[] | undefined;
  /** Request fields that were left out, and those that were lowered. */
  readonly ignored?: readonly string[] | undefined;
  readonly lowered?: Readonly<Record<string, number>> | undefined;
  readonly warnings?: readonly string[] | undefined;
  /** The gateway marked the prompt for a cache, or why it did not, where it was for it to decide. */
  readonly cache_marks?: Exclude<CacheMarks, "client" | "off"> | undefined;
  /** The provider's own word on its prompt cache, such as `tools_changed`. */
  readonly cache?: string | undefined;
  /** The results of policies; absent: each let everything pass. */
  readonly policies?: readonly PolicyDetail[] | undefined;
  /** The claim `sub` of the caller's token (JWT), and the customer that they called for. */
  readonly subject?: string | undefined;
  readonly end_user?: string | undefined;
}

export const policyResults = ["allow", "deny", "replace", "failed"] as const;

/** A result of a policy in a call, without any text. */
export interface PolicyDetail {
  readonly policy: string;
  readonly phase: "request" | "answer";
  readonly result: (typeof policyResults)[number];
  /** The policy's name for what it found, or why it failed. */
  readonly label?: string | undefined;
  readonly count: number;
}
