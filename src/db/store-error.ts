/** The store cannot be opened. The message is one sentence for the operator; the engine's own words are the cause. */
export class StoreError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StoreError";
  }
}
