import { createHash } from "node:crypto";

/** What better-auth takes for an e-mail address, which is less than there is: `owner@localhost` has no such host. */
const taken = /^(?!\.)(?!.*\.\.)[a-z0-9_'+.-]*[a-z0-9_+-]@([a-z0-9][a-z0-9-]*\.)+[a-z]{2,}$/;

/** RFC 5321; of a longer one no form is looked for. */
const addressCharactersMax = 254;

const madeUpHost = "@address.invalid";

/** Whether an e-mail has a host that mail can be sent to, by its looks. */
export function isEmailTaken(email: string): boolean {
  return taken.test(email);
}

/** Under which address the holder of an e-mail signs in; the same one for the same e-mail, in any case. */
export function signInAddressOf(email: string): string {
  const plain = email.trim().toLowerCase();
  if (plain.length <= addressCharactersMax && taken.test(plain)) return plain;
  return `${createHash("sha256").update(plain).digest("hex").slice(0, 40)}${madeUpHost}`;
}

/** Whether an address stands for an e-mail that is none to better-auth, and means nothing to a person. */
export function isPlaceholderEmail(address: unknown): boolean {
  return typeof address === "string" && address.endsWith(madeUpHost);
}
