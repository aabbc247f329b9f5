/**
 * Somebody who has found a key pastes what it was found in: a line of a log, JSON, an env file, an address. This finds the
 * credentials of this gateway in it, with escapes of the usual formats. Only their ids and hashes leave the browser.
 */

export type CredentialType = "api_key" | "admin_key" | "access_token" | "refresh_token";

/** A credential in a text. */
export interface FoundCredential {
  readonly type: CredentialType;
  /** Absent for a key of another gateway, which is found by its whole text. */
  readonly id: string | undefined;
  /** The part that is hashed; absent where the text has the id alone. */
  readonly secret: string | undefined;
}

/** A credential as it is sent. */
export interface HashedCredential {
  readonly type: CredentialType;
  readonly id?: string;
  readonly sha256?: string;
}

/** Characters that are read. */
export const textMax = 1_000_000;
/** Credentials of one text. */
const credentialsMax = 20;

/** Base64, as in a secret of Kubernetes or a header of Basic authentication. */
const base64Form = /[A-Za-z0-9+/_-]{24,8192}={0,2}/g;
const prefixForm = /sk-mg-admin-|sk-mg-|mg-at-|mg-rt-/g;
const idForm = /[0-9A-Za-z]{4,64}/y;
/** Secrets that are generated have 48, 64 or 96 hexadecimal digits; imported keys may have others. */
const secretForms: Readonly<Record<CredentialType, readonly RegExp[]>> = {
  api_key: [/[0-9a-f]{48}(?![0-9a-f])/y, /[0-9A-Za-z_-]{16,200}/y],
  admin_key: [/[0-9a-f]{48}(?![0-9a-f])/y, /[0-9A-Za-z_-]{16,200}/y],
  access_token: [/[0-9a-f]{64}/y],
  refresh_token: [/[0-9a-f]{96}/y],
};
const typeOf: Readonly<Record<string, CredentialType>> = {
  "sk-mg-": "api_key",
  "sk-mg-admin-": "admin_key",
  "mg-at-": "access_token",
  "mg-rt-": "refresh_token",
};
const foreignForm = /(?<![A-Za-z0-9_-])sk-(?!mg-)[A-Za-z0-9_-]{16,497}/g;
/** A refresh token is known by the part that changes with each use. */
const refreshPart = 48;

/** The credentials in a text, each once. */
export function findCredentials(text: string): readonly FoundCredential[] {
  const plain = unescapeText(text.slice(0, textMax));
  const all = [plain, ...decodeBase64(plain)].flatMap((part) => [...findOwn(part), ...findForeign(part)]);
  const byName = new Map<string, FoundCredential>();
  for (const one of all) {
    byName.set(`${one.type} ${one.id ?? ""} ${one.secret ?? ""}`, one);
  }
  // An id alone adds nothing to a credential whose secret is elsewhere in the text.
  const whole = new Set([...byName.values()].filter(({ secret }) => secret !== undefined).map(({ id }) => id));
  return [...byName.values()]
    .filter(({ id, secret }) => secret !== undefined || !whole.has(id))
    .slice(0, credentialsMax);
}

/**
 * Credentials with the hashes of their secrets. Without `crypto.subtle`, as on a page without TLS, ids alone are sent, and a
 * key without an id of ours is left out.
 */
export async function hashCredentials(
  credentials: readonly FoundCredential[],
  subtle: SubtleCrypto | null = globalThis.crypto?.subtle ?? null,
): Promise<readonly HashedCredential[]> {
  const hashed = await Promise.all(
    credentials.map(async ({ type, id, secret }): Promise<HashedCredential | undefined> => {
      const sha256 = secret === undefined || subtle === null ? undefined : await hash(subtle, secret);
      if (id === undefined && sha256 === undefined) return undefined;
      return { type, ...(id !== undefined && { id }), ...(sha256 !== undefined && { sha256 }) };
    }),
  );
  const unique = new Map(hashed.filter((one) => one !== undefined).map((one) => [JSON.stringify(one), one]));
  return [...unique.values()];
}

async function hash(subtle: SubtleCrypto, text: string): Promise<string> {
  const digest = await subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Undoes escapes of addresses, JSON, HTML, Markdown and mail, and what word processors put in place of hyphens. */
function unescapeText(text: string): string {
  return (
    text
      // Twice encoded: the sign itself is %25.
      .replace(/%(?:25)*2d/gi, "-")
      .replace(/%(?:25)*5f/gi, "_")
      .replace(/\\{1,8}(?:u00|x)2d/gi, "-")
      .replace(/\\{1,8}(?:u00|x)5f/gi, "_")
      .replace(/&#(?:45|x2d);|&hyphen;|[\u2010\u2011]/gi, "-")
      .replace(/&#(?:95|x5f);|&lowbar;/gi, "_")
      .replace(/\\{1,8}([-_])/g, "$1")
      .replace(/=\r?\n|[\u00ad\u200b\u2060\ufeff]/g, "")
  );
}

function decodeBase64(text: string): string[] {
  const decoded: string[] = [];
  for (const [coded] of text.matchAll(base64Form)) {
    try {
      const part = atob(coded.replaceAll("-", "+").replaceAll("_", "/").replaceAll("=", ""));
      if (/sk-|mg-[ar]t-/.test(part)) decoded.push(unescapeText(part));
    } catch {
      // It has the letters of Base64, but is not Base64.
    }
  }
  return decoded;
}

function* findOwn(text: string): Generator<FoundCredential> {
  for (const match of text.matchAll(prefixForm)) {
    const type = typeOf[match[0]] as CredentialType;
    const id = readAt(idForm, text, match.index + match[0].length);
    if (id === undefined || (type === "api_key" && id === "admin")) continue;
    const end = match.index + match[0].length + id.length;
    const secret = text[end] === "-" ? readFirst(secretForms[type], text, end + 1) : undefined;
    yield { type, id, secret: type === "refresh_token" ? secret?.slice(refreshPart) : secret };
  }
}

function* findForeign(text: string): Generator<FoundCredential> {
  for (const [secret] of text.matchAll(foreignForm)) {
    if (/\d/.test(secret)) yield { type: "api_key", id: undefined, secret };
  }
}

function readFirst(forms: readonly RegExp[], text: string, at: number): string | undefined {
  for (const form of forms) {
    const part = readAt(form, text, at);
    if (part !== undefined) return part;
  }
  return undefined;
}

function readAt(form: RegExp, text: string, at: number): string | undefined {
  form.lastIndex = at;
  return form.exec(text)?.[0];
}
