/** PostgreSQL did not answer: gone, silent or not yet back. */
export class LostConnection extends Error {
  override readonly name = "LostConnection";
  /** Tells {@link isOutcomeUnknown} by its presence whether the statement may have run; absent when it was never sent. */
  readonly lostConnection?: true;

  constructor(message: string, wasSent: boolean, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    if (wasSent) this.lostConnection = true;
  }
}
