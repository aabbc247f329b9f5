import { GatewayError } from "../contract/index.ts";

/** For whoever still has a password that somebody else has seen. */
export function passwordChangeRequired(): GatewayError {
  const sentence = "This password is good for the first sign-in alone: change it, and everything else is open";
  return new GatewayError("forbidden", sentence, { shownCode: "password_change_required" });
}
