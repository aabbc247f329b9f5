import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../config/index.ts";
import { trimSlashes } from "../../contract/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import { type CliContext, defineCommand, UsageError } from "../command.ts";
import { readSignedIn, removeSignedIn, type SignedIn, withLock, writeSignedIn } from "../lib/signed-in.bun.ts";
import { UnreachableError } from "../unreachable.ts";

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
const timeoutMs = 10_000;
/** A token that is printed is good for at least this long: programs keep it for minutes. */
const leftMsMin = 600_000;

export const login = defineCommand({
  name: "login",
  description: "Sign in to a gateway by its dashboard, for programs that ask modelgate token for a token",
  flags: { url: { value: "URL", description: "The gateway (default: MODELGATE_URL, or the gateway on this machine)" } },
  args: [],
  example: "login --url https://llm.example.com",
  async run(context, { flags, config }) {
    const url = toUrl(flags.url ?? context.env.MODELGATE_URL, config);
    const device = await post(url, "device_authorization", { client_id: "modelgate" });
    const { device_code: code, user_code: userCode, verification_uri: page } = device.body;
    if (device.status !== 200 || typeof code !== "string") throw refused(url, device);
    const address = device.body.verification_uri_complete ?? page;
    context.stderr(`Open ${address}\nand check that it shows the code ${userCode}\n`);
    const answer = await pollTokens(url, code, device.body);
    const signedIn = toSignedIn(url, answer, toNow(context));
    const file = await withLock(context.env, async () => writeSignedIn(context.env, signedIn));
    const { email } = signedIn;
    return { json: { url, email, file }, text: `Signed in to ${url} as ${email}; modelgate token prints a token` };
  },
});

export const token = defineCommand({
  name: "token",
  description: "Print an access token of modelgate login, renewed if needed, for apiKeyHelper and auth commands",
  flags: {},
  args: [],
  example: "token",
  async run(context) {
    const current = await readFresh(context);
    const json = { access_token: current.access_token, expires_at: new Date(current.expires_at).toISOString() };
    return { json, text: current.access_token };
  },
});

export const logout = defineCommand({
  name: "logout",
  description: "End the sign-in of modelgate login, here and at the gateway",
  flags: {},
  args: [],
  example: "logout",
  async run({ env }) {
    return await withLock(env, async () => {
      const current = readSignedIn(env);
      if (current === undefined) return { json: { signed_out: false }, text: "Not signed in" };
      const form = { token: current.refresh_token, token_type_hint: "refresh_token" };
      const isEnded = await post(current.url, "revoke", form).then(
        ({ status }) => status === 200,
        () => false,
      );
      removeSignedIn(env);
      const note = isEnded ? "" : "; the gateway was not reached, revoke the key modelgate there";
      return { json: { signed_out: true, revoked: isEnded }, text: `Signed out of ${current.url}${note}` };
    });
  },
});

async function readFresh(context: CliContext): Promise<SignedIn> {
  const { env } = context;
  const isFresh = ({ expires_at: at }: SignedIn) => at - leftMsMin > toNow(context);
  const first = readOrThrow(env);
  if (isFresh(first)) return first;
  return await withLock(env, async () => {
    // It may have been renewed by another process while this one waited for the lock.
    const current = readOrThrow(env);
    if (isFresh(current)) return current;
    try {
      return await renew(context, current);
    } catch (error) {
      // Better a token that ends soon than none.
      if (error instanceof UnreachableError && current.expires_at > toNow(context)) return current;
      throw error;
    }
  });
}

async function renew(context: CliContext, current: SignedIn): Promise<SignedIn> {
  const form = { grant_type: "refresh_token", refresh_token: current.refresh_token };
  const answer = await post(current.url, "token", form);
  if (answer.status >= 500) throw new UnreachableError(`${current.url} answers ${answer.status}; try again`);
  if (answer.status !== 200) throw refused(current.url, answer);
  const renewed = toSignedIn(current.url, answer.body, toNow(context));
  writeSignedIn(context.env, renewed);
  return renewed;
}

function readOrThrow(env: CliContext["env"]): SignedIn {
  const current = readSignedIn(env);
  if (current !== undefined) return current;
  throw new UsageError("Not signed in; run modelgate login");
}

const toNow = ({ now = Date.now }: CliContext) => now();

/** @throws {UsageError} */
function toUrl(text: string | undefined, { port }: Config): string {
  const url = trimSlashes(text ?? `http://127.0.0.1:${port}`);
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? "")) return url;
  throw new UsageError(`${url} is no address of a gateway, expected one such as https://llm.example.com`, {
    param: "--url",
  });
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** @throws {UnreachableError} */
async function post(url: string, path: string, form: Record<string, string>): Promise<Answer> {
  try {
    const response = await fetch(`${url}/oauth/${path}`, {
      method: "POST",
      redirect: "manual",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(form).toString(),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const body = parseJson(await response.text(), "document");
    return { status: response.status, body: isRecord(body) ? body : {} };
  } catch (error) {
    throw new UnreachableError(`Cannot reach the gateway at ${url}: ${(error as Error).message}`);
  }
}

/** Asks until a person has answered (RFC 8628, section 3.5). */
async function pollTokens(url: string, code: string, device: Answer["body"]): Promise<Answer["body"]> {
  let waitMs = toMs(device.interval, 5);
  const until = Date.now() + toMs(device.expires_in, 600);
  while (Date.now() < until) {
    await sleep(waitMs);
    // A gateway that restarts answers the next poll.
    const answer = await post(url, "token", { grant_type: deviceGrant, device_code: code }).catch(() => undefined);
    if (answer === undefined || answer.status >= 500) continue;
    if (answer.status === 200) return answer.body;
    if (answer.body.error === "slow_down") waitMs += 5000;
    else if (answer.body.error !== "authorization_pending") throw refused(url, answer);
  }
  throw new Error("Nobody has approved the sign-in within ten minutes; run modelgate login again");
}

function toMs(seconds: unknown, otherwise: number): number {
  return (typeof seconds === "number" ? seconds : otherwise) * 1000;
}

function toSignedIn(url: string, body: Answer["body"], now: number): SignedIn {
  const { access_token, refresh_token, email = "", expires_in: seconds } = body;
  const isWhole = typeof access_token === "string" && typeof refresh_token === "string" && typeof email === "string";
  if (!isWhole) throw new UsageError(`The server at ${url} is not a gateway; check the address`);
  return { url, email, access_token, refresh_token, expires_at: now + toMs(seconds, 0) };
}

function refused(url: string, { status, body }: Answer): Error {
  const { error, error_description: description } = body;
  if (typeof error !== "string") return new UsageError(`${url} answers ${status}: it is not a gateway of this version`);
  if (error === "invalid_grant") return new Error("The sign-in has ended; run modelgate login");
  return new Error(typeof description === "string" ? description : error);
}
