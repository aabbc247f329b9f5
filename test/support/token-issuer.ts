import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";

type Key = Awaited<ReturnType<typeof generateKeyPair>>;

/** An issuer of tokens on loopback, whose keys can change and which can go away. */
export interface TestIssuer {
  readonly url: string;
  /** Requests for its discovery document and its keys. */
  readonly asked: { documents: number; keys: number };
  /** Answers nothing but 500 while it is away. */
  isAway: boolean;
  /** A token by its latest key; `undefined` removes a claim. */
  sign(claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
  /** Makes another key and publishes it beside the others, or instead of them. */
  addKey(kid: string, algorithm?: string, options?: { isAlone?: boolean; isSecret?: boolean }): Promise<Key>;
  /** What it publishes. */
  readonly keys: Record<string, unknown>[];
  stop(): void;
}

/** Starts one with an ES256 key `first`. Tokens are of the subject `sub-1` for the audience `modelgate`, for five minutes. */
export async function startTokenIssuer(now: () => number = Date.now): Promise<TestIssuer> {
  const keys: Record<string, unknown>[] = [];
  let latest: { kid: string; alg: string; key: Key["privateKey"] } | undefined;
  const issuer = { asked: { documents: 0, keys: 0 }, isAway: false };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch({ url }): Response {
      const isKeys = url.endsWith("/keys");
      issuer.asked[isKeys ? "keys" : "documents"] += 1;
      if (issuer.isAway) return new Response("away", { status: 500 });
      if (isKeys) return Response.json({ keys });
      return Response.json({ issuer: own, jwks_uri: `${own}/keys` });
    },
  });
  const own: string = `http://127.0.0.1:${server.port}`;
  const made: TestIssuer = Object.assign(issuer, {
    url: own,
    keys,
    async addKey(kid: string, algorithm = "ES256", { isAlone = false, isSecret = false } = {}) {
      const pair = await generateKeyPair(algorithm, { extractable: true });
      if (isAlone) keys.length = 0;
      if (!isSecret) keys.push({ ...(await exportJWK(pair.publicKey)), kid, alg: algorithm, use: "sig" });
      latest = { kid, alg: algorithm, key: pair.privateKey };
      return pair;
    },
    sign(claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) {
      const { kid, alg, key } = latest as NonNullable<typeof latest>;
      const at = Math.floor(now() / 1000);
      const all = {
        iss: own,
        aud: "modelgate",
        sub: "sub-1",
        iat: at,
        exp: at + 300,
        email: "ada@example.com",
        ...claims,
      };
      return new SignJWT(all as JWTPayload).setProtectedHeader({ alg, kid, typ: "JWT", ...header }).sign(key);
    },
    stop: () => void server.stop(true),
  });
  await made.addKey("first");
  return made;
}
