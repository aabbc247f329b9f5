/**
 * Thrown when a plugin or its catalogue cannot be loaded. The message says what is wrong, where, and what to do.
 *
 * @example
 * new PluginError("Cannot read the voices: expected a list").message; // => "Cannot read the voices: expected a list"
 */
export class PluginError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PluginError";
  }
}
