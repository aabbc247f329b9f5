import { UpstreamError } from "../contract/index.ts";
import { isRecord, parseJson } from "../lib/json.ts";
import { keepWith } from "../lib/kept-with.ts";
import type {
  AuthorizedRequest,
  CredentialFields,
  MachineRequest,
  ProviderCredential,
  TokenResponse,
} from "../provider/index.ts";
import { classifyRefusal } from "./upstream-errors.ts";

/** Request to a token endpoint, or to the metadata service of the machine. */
export type TokenRequest =
  | { readonly url: string; readonly form: Readonly<Record<string, string>> }
  | { readonly machine: MachineRequest };

type Asking = Pick<AuthorizedRequest, "postForm"> & Partial<Pick<AuthorizedRequest, "askMachine">>;

type Ask = (fields: CredentialFields) => TokenRequest | Promise<TokenRequest>;

interface Token<Value = string> {
  readonly value: Value;
  /** From then on another is fetched, while this one serves. */
  readonly refreshAt: number;
  readonly expiresAt: number;
}

interface Entry<Value> {
  token?: Token<Value>;
  fetching?: Promise<Token<Value>> | undefined;
  /** After a refresh that failed. */
  retryAt: number;
}

/** A token is renewed this long before it expires, or at half its life if that is later. */
const earlyMs = 300_000;
/** A token with less than this left may end on its way. */
const leftMsMin = 10_000;
const retryMs = 10_000;
/** For an endpoint that does not say how long a token lasts. */
const lifeSecondsDefault = 60;

/**
 * Returns the OAuth token of a credential. It is fetched when first needed, by one request for all waiting calls, and
 * renewed before it expires, while the current one is still used. Only the plugin's declared `hosts`, and hosts that
 * the credential itself names, are called.
 *
 * @param ask Returns the request to the endpoint. It also identifies the token: the same function yields the same
 * token.
 * @throws {UpstreamError} `auth` when the endpoint refuses the credential, otherwise what kept it from answering.
 *
 * @example
 * const body = JSON.stringify({ access_token: "token-1", expires_in: 3600 });
 * const postForm = async () => ({ status: 200, headers: new Headers(), body });
 * const credential = { key: "", fields: { client_secret: "s" } };
 * const ask = ({ client_secret }) => ({ url: "https://auth.example.com/token", form: { client_secret } });
 * await fetchToken({ postForm }, credential, ask); // => "token-1"
 */
export function fetchToken(request: Asking, credential: ProviderCredential, ask: Ask): Promise<string> {
  return fetchFresh(credential, ask, async () => {
    const requested = await ask(credential.fields);
    if (!("machine" in requested)) return readToken(await request.postForm(requested.url, requested.form));
    if (request.askMachine === undefined) throw new TypeError("There is no machine to ask");
    return readToken(await request.askMachine(requested.machine));
  });
}

/**
 * Returns a value that is good for some time and kept with a credential, such as keys that expire after an hour:
 * fetched when it is first needed, by one request for all that wait for it, and renewed before its end while the one
 * before still serves.
 *
 * @param name Tells it from other things that are kept with the credential.
 * @param load Fetches it, and says when it ends, in milliseconds since 1970.
 *
 * @example
 * const load = async () => ({ value: "key-1", expiresAt: Date.now() + 3_600_000 });
 * await fetchFresh({ key: "", fields: {} }, "keys", load); // => "key-1"
 */
export async function fetchFresh<Value>(
  credential: ProviderCredential,
  name: unknown,
  load: () => Promise<{ value: Value; expiresAt: number }>,
): Promise<Value> {
  // The kernel forgets what is kept with a credential that its provider refuses.
  const entry = keepWith<Entry<Value>>(credential, name, () => ({ retryAt: 0 }));
  const now = Date.now();
  const { token } = entry;
  if (token !== undefined && now < token.expiresAt - leftMsMin) {
    if (now >= token.refreshAt && now >= entry.retryAt) refresh(entry, load).catch(() => undefined);
    return token.value;
  }
  return (await refresh(entry, load)).value;
}

function refresh<Value>(
  entry: Entry<Value>,
  load: () => Promise<{ value: Value; expiresAt: number }>,
): Promise<Token<Value>> {
  entry.fetching ??= (async () => {
    try {
      const { value, expiresAt } = await load();
      const lifeMs = expiresAt - Date.now();
      entry.token = { value, expiresAt, refreshAt: expiresAt - Math.min(earlyMs, lifeMs / 2) };
      return entry.token;
    } catch (error) {
      entry.retryAt = Date.now() + retryMs;
      throw error;
    } finally {
      entry.fetching = undefined;
    }
  })();
  return entry.fetching;
}

function readToken({ status, headers, body }: TokenResponse): { value: string; expiresAt: number } {
  if (status < 200 || status > 299) throw toUpstreamError(status, headers, body);
  const answer = parseJson(body, "document");
  const { access_token: text, expires_in: seconds }: Record<string, unknown> = isRecord(answer) ? answer : {};
  if (typeof text !== "string" || !/^[\x21-\x7e]+$/.test(text)) {
    throw new UpstreamError("bad_response", "The token endpoint of the provider answered without a token");
  }
  const lifetime = Number(seconds);
  const lifeMs = 1000 * (lifetime > 0 && Number.isFinite(lifetime) ? lifetime : lifeSecondsDefault);
  return { value: text, expiresAt: Date.now() + lifeMs };
}

/** The message is ours, because an endpoint that refuses a credential names tenants, applications and accounts. */
function toUpstreamError(status: number, headers: Headers, body: string): UpstreamError {
  const { kind, retryAfterMs } = classifyRefusal({ status, headers, body });
  const answer = parseJson(body, "document");
  const code = isRecord(answer) && typeof answer.error === "string" ? answer.error : undefined;
  const named = code !== undefined && /^[a-z_]{1,64}$/.test(code) ? `${status}, ${code}` : `${status}`;
  const isRefused = status >= 400 && status < 500 && kind !== "rate_limited";
  return new UpstreamError(isRefused ? "auth" : kind, `The token endpoint of the provider answered ${named}`, {
    status,
    retryAfterMs,
  });
}
