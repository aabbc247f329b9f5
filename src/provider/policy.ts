/**
 * Where a text is in a request or an answer: `text` is by people and models (messages, instructions, inputs, transcripts),
 * `reasoning` is what the client sees of it, `arguments` are those of a tool call, as JSON, `tool` is the description of a tool
 * with its schema, and `other` is any other text, such as metadata or an address.
 */
export type PolicyTextKind = "text" | "reasoning" | "arguments" | "tool" | "other";

/** A text of a request or an answer in the uniform form, whatever protocol the client speaks. */
export interface PolicyText {
  /** Its place: `messages[0].content`, `choices[0].message.content`. */
  readonly path: string;
  /** `system`, `user`, `assistant`, `tool`, … */
  readonly role: string;
  readonly kind: PolicyTextKind;
  readonly text: string;
}

/** The call that a policy looks at. */
export interface PolicyContext {
  /** Whether the texts are a whole request or answer. A stream is looked at in windows that overlap. */
  readonly isWhole: boolean;
  /** The id of the model. */
  readonly model: string;
  /** The client's wire format. */
  readonly protocol: string;
  readonly account: string;
  readonly key: string;
  readonly tag?: string | undefined;
  readonly endUser?: string | undefined;
  readonly session?: string | undefined;
  /** Aborted when the time of the policy is up. */
  readonly signal: AbortSignal;
}

/** Facts of a result for the log, the request log and metrics. */
interface PolicyNote {
  /** A short name of what was found, such as `card`: letters, digits, `.`, `_` and `-`. Never the text. */
  readonly label?: string;
  /** How often it was found. */
  readonly count?: number;
}

/** The decision of a policy. */
export type PolicyResult =
  | ({ readonly result: "allow" } & PolicyNote)
  /** `message`: the error that the caller of a refused request gets. */
  | ({ readonly result: "deny"; readonly message?: string } & PolicyNote)
  | ({ readonly result: "replace"; readonly texts: readonly Pick<PolicyText, "path" | "text">[] } & PolicyNote);

/** Looks at texts. */
export type PolicyCheck = (
  texts: readonly PolicyText[],
  context: PolicyContext,
) => PolicyResult | Promise<PolicyResult>;

/** A policy as the gateway runs it; `definePolicy` makes it. */
export interface Policy {
  readonly name: string;
  readonly version: string;
  /** Looks at a request before anything is held for it. Absent: requests are not looked at. */
  readonly request?: PolicyCheck;
  /** Looks at an answer before its client gets it. Absent: answers are not looked at. */
  readonly answer?: PolicyCheck;
  /**
   * Characters of a stream that are held back until what follows was looked at: at least as long as the longest match.
   * Infinite: all of an answer is held back until its end.
   */
  readonly holdBackChars: number;
  /** The time for one look, in milliseconds. */
  readonly timeoutMs: number;
}
