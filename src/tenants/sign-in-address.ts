import { createHash } from "node:crypto";

/** The e-mail addresses that better-auth accepts; it rejects valid ones such as `owner@localhost`. */
const acceptedEmail = /^(?!\.)(?!.*\.\.)[a-z0-9_'+.-]*[a-z0-9_+-]@([a-z0-9][a-z0-9-]*\.)+[a-z]{2,}$/;

/** RFC 5321; longer addresses are not matched against the pattern. */
const addressCharactersMax = 254;

const placeholderHost = "@address.invalid";

/** Whether better-auth and payment providers accept an e-mail. */
export function isAcceptedEmail(email: string): boolean {
  return acceptedEmail.test(email);
}

/** The address under which better-auth stores a user: the e-mail in lower case, or a placeholder where it does not accept the e-mail. */
export function toSignInAddress(email: string): string {
  const plain = email.trim().toLowerCase();
  if (plain.length <= addressCharactersMax && acceptedEmail.test(plain)) return plain;
  return `${createHash("sha256").update(plain).digest("hex").slice(0, 40)}${placeholderHost}`;
}

/** Whether an address is a placeholder of {@link toSignInAddress}, which is never shown. */
export function isPlaceholderEmail(address: unknown): boolean {
  return typeof address === "string" && address.endsWith(placeholderHost);
}
