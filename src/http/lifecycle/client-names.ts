import { isRecord } from "../../lib/json.ts";

/** Claude Code's, then Codex's. */
const headerNames = ["x-claude-code-session-id", "session-id"];

/** UUIDs and names. Others are ignored: a session stands in the log, in exports and in spreadsheets made of them. */
const sessionForm = /^[A-Za-z0-9][\w.:/+=@ -]{0,127}$/;

/** Longer ones are not read; Claude Code's has about 200 characters. */
const userIdCharactersMax = 1000;

/** The name that a client's headers give its session. */
export function readSessionHeader(headers: Headers): string | undefined {
  for (const name of headerNames) {
    const session = toSession(headers.get(name));
    if (session !== undefined) return session;
  }
  return undefined;
}

/** Like a session of at most 64 characters; others are ignored too. */
const tagForm = /^[A-Za-z0-9][\w.:/+=@ -]{0,63}$/;

/** The tag in a client's headers. */
export function readTagHeader(headers: Headers): string | undefined {
  return toTag(headers.get("x-modelgate-tag"));
}

/**
 * The names that a body of any protocol gives its session, `prompt_cache_key` or Claude Code's in `metadata.user_id`, and
 * its tag, `metadata.tag`, where the headers had none.
 */
export function readNamesOfBody(body: unknown, names: { session: string | undefined; tag: string | undefined }): void {
  if (!isRecord(body)) return;
  const { prompt_cache_key: cacheKey } = body;
  const metadata = isRecord(body.metadata) ? body.metadata : undefined;
  names.session ??= toSession(cacheKey) ?? readUserId(metadata?.user_id);
  names.tag ??= toTag(metadata?.tag);
}

/** Claude Code's is JSON with `session_id`; older ones end in `_session_` and an id. Without a session it names a person. */
function readUserId(userId: unknown): string | undefined {
  if (typeof userId !== "string" || userId.length > userIdCharactersMax) return undefined;
  if (!userId.startsWith("{")) return toSession(/_session_([^_]*)$/.exec(userId)?.[1]);
  try {
    return toSession(JSON.parse(userId).session_id);
  } catch {
    return undefined;
  }
}

function toSession(name: unknown): string | undefined {
  return typeof name === "string" && sessionForm.test(name) ? name : undefined;
}

function toTag(name: unknown): string | undefined {
  return typeof name === "string" && tagForm.test(name) ? name : undefined;
}

/** UUIDs, ULIDs, base64, paths. Others are ignored. */
const clientRequestIdForm = /^[\w.:/+=@-]{1,128}$/;

/** The client's own `x-request-id`, if it is safe in a header and a log line. */
export function readClientRequestId({ headers }: Request): string | undefined {
  const given = headers.get("x-request-id");
  return given !== null && clientRequestIdForm.test(given) ? given : undefined;
}
