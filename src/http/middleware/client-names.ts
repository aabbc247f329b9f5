import { isRecord } from "../../sdk/index.ts";

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

/** The name that a body of any protocol gives its session: `prompt_cache_key`, or Claude Code's in `metadata.user_id`. */
export function readSessionOfBody(body: unknown): string | undefined {
  if (!isRecord(body)) return undefined;
  const { prompt_cache_key: cacheKey, metadata } = body;
  return toSession(cacheKey) ?? (isRecord(metadata) ? readUserId(metadata.user_id) : undefined);
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

/** UUIDs, ULIDs, base64, paths. Others are ignored. */
const clientRequestIdForm = /^[\w.:/+=@-]{1,128}$/;

/** The client's own `x-request-id`, if it is safe in a header and a log line. */
export function readClientRequestId({ headers }: Request): string | undefined {
  const given = headers.get("x-request-id");
  return given !== null && clientRequestIdForm.test(given) ? given : undefined;
}
