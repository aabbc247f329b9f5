import { GatewayError } from "../contract/index.ts";

/**
 * The refusal of a request that a provider could not serve, to be thrown.
 *
 * @param param The field at fault, as a path: `messages[0].content[1].image_url.url`.
 *
 * @example
 * const refusal = refuse("This model takes no images", "messages[0].content");
 * [refusal.code, refusal.status, refusal.param]; // => ["invalid_request", 400, "messages[0].content"]
 */
export function badRequest(message: string, param: string | undefined): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
