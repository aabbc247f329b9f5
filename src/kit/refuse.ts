import { GatewayError } from "../contract/index.ts";

/**
 * The refusal of a request that a provider could not serve, to be thrown.
 *
 * @param param The field at fault, as a path: `messages[0].content[1].image_url.url`.
 */
export function refuse(message: string, param: string | undefined): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
