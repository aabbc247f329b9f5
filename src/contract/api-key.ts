/** The two parts of an API key: `sk-mg-<id>-<secret>`. */
export interface KeyParts {
  /** Public: shown and logged. */
  id: string;
  secret: string;
}

/** Wider than the form of generated keys, because a key that is given for scripts comes from elsewhere. */
const pattern = /^sk-mg-(?!admin-)([0-9A-Za-z]{4,64})-([0-9A-Za-z_-]{16,200})$/;
const adminPattern = /^sk-mg-admin-([0-9A-Za-z]{4,64})-([0-9A-Za-z_-]{16,200})$/;

/** Form of an API key, for error messages. */
export const apiKeyForm =
  "sk-mg-<id>-<secret>, the id 4 to 64 letters or digits and the secret 16 to 200 letters, digits, - or _";

export function formatApiKey({ id, secret }: KeyParts): string {
  return `sk-mg-${id}-${secret}`;
}

/** Parses an API key. Returns `undefined` for any other text, also for an admin key. */
export function parseApiKey(token: string): KeyParts | undefined {
  return parseParts(pattern, token);
}

/** Form of an admin key, for error messages. */
export const adminKeyForm = "sk-mg-admin-<id>-<secret>";

/** An admin key as it is given out: it manages the gateway and makes no calls. */
export function formatAdminKey({ id, secret }: KeyParts): string {
  return `sk-mg-admin-${id}-${secret}`;
}

/** Returns `undefined` for a text that is not an admin key. */
export function parseAdminKey(token: string): KeyParts | undefined {
  return parseParts(adminPattern, token);
}

/** Whether a text is meant as an admin key, well-formed or not. */
export function isAdminKey(token: string): boolean {
  return token.startsWith("sk-mg-admin-");
}

function parseParts(form: RegExp, token: string): KeyParts | undefined {
  const match = form.exec(token);
  if (match === null) return undefined;
  const [, id = "", secret = ""] = match;
  return { id, secret };
}
