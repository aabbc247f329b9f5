import { GatewayError } from "../contract/index.ts";

/** The endpoints of the second factor: codes of an authenticator app and backup codes. */
export const secondFactorPaths: readonly string[] = [
  "two-factor/enable",
  "two-factor/disable",
  "two-factor/verify-totp",
  "two-factor/verify-backup-code",
  "two-factor/generate-backup-codes",
];

/** Labels the authenticator URI with the account's e-mail instead of the sign-in address. */
export function withAccountLabel(email: string, response: unknown): unknown {
  if (typeof response !== "object" || response === null || !("totpURI" in response)) return response;
  const { totpURI } = response;
  if (typeof totpURI !== "string" || !URL.canParse(totpURI)) {
    throw new GatewayError("internal_error", "The authenticator URI could not be created");
  }
  const { searchParams } = new URL(totpURI);
  searchParams.set("issuer", "modelgate");
  return { ...response, totpURI: `otpauth://totp/modelgate:${encodeURIComponent(email)}?${searchParams}` };
}
