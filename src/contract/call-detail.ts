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

/** Details of a call in the request log beside its columns, as they are stored. An absent field did not happen. */
export interface CallDetail {
  /** The name that the client sent where another model served it, such as that of a virtual model. */
  readonly requested?: string | undefined;
  readonly stream?: true | undefined;
  /** The finish reason of each choice. */
  readonly finish?: readonly string[] | undefined;
  /** The message that the caller was given. */
  readonly error?: string | undefined;
  readonly attempts?: readonly FailedAttempt[] | undefined;
  /** Request fields that were left out, and those that were lowered. */
  readonly ignored?: readonly string[] | undefined;
  readonly lowered?: Readonly<Record<string, number>> | undefined;
  readonly warnings?: readonly string[] | undefined;
  /** The claim `sub` of the caller's token (JWT), and the customer for whom they called. */
  readonly subject?: string | undefined;
  readonly end_user?: string | undefined;
}
