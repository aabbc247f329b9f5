/** Thrown when a plugin or its catalogue cannot be taken in. The sentence says what is wrong, where, and what to do. */
export class PluginError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PluginError";
  }
}
