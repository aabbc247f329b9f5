import { GatewayError } from "../contract/index.ts";

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

/**
 * Makes the error for a request that the provider cannot serve (400 `invalid_request`). The caller throws it.
 *
 * @param param The field at fault, as a path: `messages[0].content[1].image_url.url`.
 *
 * @example
 * const error = badRequest("This model takes no images", "messages[0].content");
 * [error.code, error.status, error.param]; // => ["invalid_request", 400, "messages[0].content"]
 */
export function badRequest(message: string, param: string | undefined): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
