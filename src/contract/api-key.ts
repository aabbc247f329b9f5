/** The two parts of an API key: `sk-mg-<id>-<secret>`. */
export interface KeyParts {
  /** Public: shown and logged. */
  id: string;
  secret: string;
}

/** Wider than what is made here: a key given for scripts comes from elsewhere. */
const pattern = /^sk-mg-([0-9A-Za-z]{4,64})-([0-9A-Za-z_-]{16,200})$/;

/** What a well-formed key looks like, for error messages. */
export const apiKeyForm =
  "sk-mg-<id>-<secret>, the id 4 to 64 letters or digits and the secret 16 to 200 letters, digits, - or _";

export function formatApiKey({ id, secret }: KeyParts): string {
  return `sk-mg-${id}-${secret}`;
}

/** Returns `undefined` for a text that is not a key. */
export function parseApiKey(token: string): KeyParts | undefined {
  const match = pattern.exec(token);
  if (match === null) return undefined;
  const [, id = "", secret = ""] = match;
  return { id, secret };
}
