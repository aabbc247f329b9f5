import { GatewayError } from "modelgate/plugin";

export function refuse(message: string, param: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
