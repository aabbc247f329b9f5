/** The two parts of a token of a program that is signed in. */
export interface OauthTokenParts {
  /** Public: names the sign-in. */
  id: string;
  secret: string;
}

const accessPattern = /^mg-at-([0-9A-Za-z]{4,64})-([0-9a-f]{64})$/;
const refreshPattern = /^mg-rt-([0-9A-Za-z]{4,64})-([0-9a-f]{96})$/;

/** Whether a bearer is meant as an access token, well-formed or not. */
export function isAccessToken(bearer: string): boolean {
  return bearer.startsWith("mg-at-");
}

export function formatAccessToken({ id, secret }: OauthTokenParts): string {
  return `mg-at-${id}-${secret}`;
}

export function formatRefreshToken({ id, secret }: OauthTokenParts): string {
  return `mg-rt-${id}-${secret}`;
}

/** Returns `undefined` for a text that is not an access token. */
export function parseAccessToken(text: string): OauthTokenParts | undefined {
  return parseParts(accessPattern, text);
}

/** Returns `undefined` for a text that is not a refresh token. */
export function parseRefreshToken(text: string): OauthTokenParts | undefined {
  return parseParts(refreshPattern, text);
}

function parseParts(form: RegExp, text: string): OauthTokenParts | undefined {
  const match = form.exec(text);
  if (match === null) return undefined;
  const [, id = "", secret = ""] = match;
  return { id, secret };
}
