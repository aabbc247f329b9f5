/** Signed parts of a request. */
export interface SignedRequest {
  readonly method: string;
  readonly url: string;
  /** Names in lower case. Only `content-type` and AWS's own headers are signed. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  readonly region: string;
  /** Name of the service in the signature: `bedrock`. */
  readonly service: string;
}

const algorithm = "AWS4-HMAC-SHA256";
const encoder = new TextEncoder();

/** The day's signing keys. Deriving one takes four rounds. */
const keysMax = 100;
const signingKeys = new Map<string, Promise<CryptoKey>>();

/**
 * The headers that sign a request by AWS Signature Version 4.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export async function signAws(request: SignedRequest, keys: AwsKeys, nowMs: number): Promise<Record<string, string>> {
  const url = new URL(request.url);
  const time = new Date(nowMs).toISOString().replace(/[:-]|\.\d+/g, "");
  const own: Record<string, string> = {
    "x-amz-date": time,
    ...(keys.sessionToken !== undefined && { "x-amz-security-token": keys.sessionToken }),
  };
  const entries = Object.entries(request.headers).filter(
    ([name]) => name === "content-type" || name.startsWith("x-amz-"),
  );
  const signed: Record<string, string> = { ...Object.fromEntries(entries), host: url.host, ...own };
  const names = Object.keys(signed).sort();
  const canonical = [
    request.method,
    toCanonicalPath(url.pathname),
    toCanonicalQuery(url.search),
    ...names.map((name) => `${name}:${(signed[name] as string).trim().replace(/ +/g, " ")}`),
    "",
    names.join(";"),
    await sha256(request.body),
  ].join("\n");
  const scope = [time.slice(0, 8), keys.region, keys.service, "aws4_request"].join("/");
  const text = [algorithm, time, scope, await sha256(canonical)].join("\n");
  const signature = toHex(await hmac(await deriveKey(keys, time.slice(0, 8)), text));
  const credential = `Credential=${keys.accessKeyId}/${scope}`;
  const authorization = `${algorithm} ${credential}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
  return { ...own, authorization };
}

/** Each part of the path as it is sent, encoded once more. */
function toCanonicalPath(pathname: string): string {
  return pathname.split("/").map(encode).join("/");
}

function toCanonicalQuery(search: string): string {
  const pairs = search
    .slice(1)
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const [name = "", ...rest] = pair.split("=");
      return [name, rest.join("=")].map((part) => encode(decodeURIComponent(part))) as [string, string];
    });
  const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
  pairs.sort((one, other) => compare(one[0], other[0]) || compare(one[1], other[1]));
  return pairs.map((pair) => pair.join("=")).join("&");
}

/** All but letters, digits and `-._~`. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

async function deriveKey({ secretAccessKey, region, service }: AwsKeys, day: string): Promise<CryptoKey> {
  const name = [day, region, service, secretAccessKey].join("\n");
  let key = signingKeys.get(name);
  if (key === undefined) {
    key = derive(secretAccessKey, [day, region, service, "aws4_request"]);
    signingKeys.set(name, key);
    const [oldest] = signingKeys.keys();
    if (signingKeys.size > keysMax && oldest !== undefined) signingKeys.delete(oldest);
  }
  return await key;
}

async function derive(secret: string, parts: readonly string[]): Promise<CryptoKey> {
  let key = await importKey(encoder.encode(`AWS4${secret}`));
  for (const part of parts) key = await importKey(await hmac(key, part));
  return key;
}

function importKey(bytes: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

async function hmac(key: CryptoKey, text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
}

async function sha256(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text))));
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
