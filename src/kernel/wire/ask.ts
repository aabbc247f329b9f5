/** Bytes that belong to whoever reads them. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** One POST to a provider, or one GET of a file. */
export interface Question {
  /** Such as `https://api.example/v1`; the path is appended to it. */
  readonly baseUrl: string;
  readonly path: string;
  /** Those of plugin and key. The same object each time where it can be: its text is kept with it. */
  readonly headers: Readonly<Record<string, string>>;
  /** What this request adds or replaces. */
  readonly more: Readonly<Record<string, string>> | undefined;
  /** JSON text, or a form; `undefined` makes it a GET. */
  readonly body: string | FormData | undefined;
  /** Aborts the request and the reading of its answer. */
  readonly signal: AbortSignal;
}

/** Who is given the next piece of a body. */
export interface Taker {
  /** `undefined` at the end. */
  onPiece(bytes: Bytes | undefined): void;
  /** There is no next piece. */
  onFailure(error: unknown): void;
}

/** An answer whose head has arrived. */
export interface Answer {
  readonly status: number;
  /** As it came; `undefined` without one. */
  readonly contentType: string | undefined;
  /** All headers, made when asked for. */
  headers(): Headers;
  /** The whole body, when it has arrived already and in one piece; then there is nothing left to read. */
  whole(): Bytes | undefined;
  /**
   * The next piece of the body, when it waits already; otherwise the taker is called with it, at once or later. One at
   * a time. By call and not by promise, as a stream does this for each piece.
   */
  take(taker: Taker): Bytes | undefined;
  /** Lets go of what has not been read. */
  cancel(): void;
}

/**
 * Asks a provider and follows no redirect.
 *
 * @throws {UpstreamFault} When no answer came.
 * @throws The reason of the signal once that is aborted.
 */
export type Ask = (question: Question) => Promise<Answer>;
