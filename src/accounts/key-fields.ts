import { GatewayError, type KeyLimits } from "../contract/index.ts";
import { checkBounds } from "./key-limits.ts";
import { validateExpiry } from "./validate-expiry.ts";

/** What can be said of a key by whoever has it made, now or later. */
export interface KeyFields {
  name?: string | undefined;
  /** Milliseconds since 1970; absent: never. */
  expiresAt?: number | undefined;
  /** Model ids; absent: all. */
  allowedModels?: readonly string[] | undefined;
  /** Of its own, beside those of its account. */
  bounds?: KeyLimits | undefined;
}

const nameLengthMax = 200;

/** @throws {GatewayError} `invalid_request` for what is no name, time, list of models or bound. */
export function checkKeyFields({ name, expiresAt, allowedModels, bounds = {} }: KeyFields, now: number): void {
  checkBounds(bounds);
  if (name !== undefined && (name.trim() === "" || name.length > nameLengthMax)) {
    throw invalid("name", `Key name has ${name.length} characters, expected 1 to ${nameLengthMax}`);
  }
  if (expiresAt !== undefined) validateExpiry(expiresAt, now);
  if (allowedModels !== undefined && (allowedModels.length === 0 || allowedModels.includes(""))) {
    throw invalid(
      "allowed_models",
      "Allowed models are an empty list: name at least one, or leave it out to allow all",
    );
  }
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
