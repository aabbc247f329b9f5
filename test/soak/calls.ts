import type { Gateway } from "../support/gateway.ts";
import { parseEvents } from "../support/sse.ts";
import { type Behaviour, saidText } from "./provider.ts";

/** What a call must come to; anything else is an error that nobody asked for. */
type End =
  | "text"
  | "vector"
  /** A stream that is whole, and one that breaks with an error in it and no `[DONE]`. */
  | "stream"
  | "broken stream"
  /** The same of a connection that is cut. `fetch` drops what was not read until then, so on a busy machine no word may be left. */
  | "cut stream"
  /** The client leaves at some instant, perhaps after the end. */
  | "left"
  | { status: number; code: string };

export interface CallKind {
  name: string;
  /** Its share among all. */
  weight: number;
  path?: string;
  body: { model: string; stream?: boolean } & Record<string, unknown>;
  headers?: Record<string, string>;
  end: End;
}

const messages = [{ role: "user", content: "What flies over the hill?" }];
/** The plugin that is dropped in, and what its provider then does. */
const ill = (behaviour: Behaviour) => `soak/${behaviour}`;
const failed = { status: 500, code: "upstream_error" };

/** The traffic. Wallet and quota, each way that a call can end. */
export const callKinds: readonly CallKind[] = [
  { name: "whole, paid", weight: 30, body: { model: "famA-4.1", messages, max_tokens: 100 }, end: "text" },
  { name: "whole, free", weight: 20, body: { model: "famA-4.1-nano", messages }, end: "text" },
  { name: "stream, paid", weight: 20, body: { model: "famA-4.1", messages, stream: true }, end: "stream" },
  { name: "stream, slow", weight: 2, body: { model: ill("say-slowly"), messages, stream: true }, end: "stream" },
  { name: "uncounted", weight: 3, body: { model: ill("count-nothing"), messages, stream: true }, end: "stream" },
  {
    name: "embedding",
    weight: 5,
    path: "/embeddings",
    body: { model: "text-embedding-3-small", input: "kites" },
    end: "vector",
  },
  { name: "reloaded", weight: 8, body: { model: "churn/kites", messages }, end: "text" },
  { name: "reloaded code", weight: 4, body: { model: "code/kites", messages }, end: "text" },
  { name: "left, stream", weight: 8, body: { model: ill("say-slowly"), messages, stream: true }, end: "left" },
  { name: "left, whole", weight: 3, body: { model: ill("say-slowly"), messages }, end: "left" },
  { name: "failed", weight: 2, body: { model: ill("fail"), messages }, end: failed },
  {
    name: "limited",
    weight: 2,
    body: { model: ill("limit"), messages },
    end: { status: 429, code: "rate_limit_exceeded" },
  },
  {
    name: "refused",
    weight: 2,
    body: { model: ill("refuse"), messages },
    end: { status: 400, code: "invalid_request" },
  },
  { name: "garbage", weight: 1, body: { model: ill("babble"), messages }, end: failed },
  { name: "reset", weight: 1, body: { model: ill("reset"), messages }, end: failed },
  { name: "cut", weight: 2, body: { model: ill("cut"), messages, stream: true }, end: "cut stream" },
  { name: "failed late", weight: 2, body: { model: ill("fail-late"), messages, stream: true }, end: "broken stream" },
  {
    name: "no such model",
    weight: 1,
    body: { model: "nobody/nothing", messages },
    end: { status: 400, code: "model_not_found" },
  },
  { name: "no messages", weight: 1, body: { model: "famA-4.1" }, end: { status: 400, code: "invalid_request" } },
  {
    name: "a stranger",
    weight: 1,
    body: { model: "famA-4.1", messages },
    headers: { authorization: "Bearer sk-mg-nobody00-0123456789abcdef0123456789abcdef" },
    end: { status: 401, code: "invalid_api_key" },
  },
];

/** A refusal that says so: on a machine with too much to do a call is not made, or its charge takes too long to write. */
export const busy = "busy";

/**
 * Makes one call. Returns what was wrong with its end, if it is not the one that was asked for; {@link busy} when the
 * gateway asked for it to be sent again later.
 */
export async function makeCall(gateway: Gateway, kind: CallKind, leaveAfterMs: number): Promise<string | undefined> {
  const signal = kind.end === "left" ? AbortSignal.timeout(leaveAfterMs) : undefined;
  try {
    const response = await gateway.ask(kind.path ?? "/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json", ...kind.headers },
      body: JSON.stringify(kind.body),
      ...(signal && { signal }),
    });
    const text = await response.text();
    if (response.status === 503 && response.headers.has("retry-after")) return busy;
    return mistakeIn(kind.end, response.status, text);
  } catch (error) {
    return signal?.aborted ? undefined : String(error);
  }
}

function mistakeIn(end: End, status: number, text: string): string | undefined {
  const wrong = `status ${status}: ${text.slice(0, 400)}`;
  if (typeof end === "object") {
    const isAsked = status === end.status && JSON.parse(text).error.code === end.code;
    return isAsked ? undefined : wrong;
  }
  if (end === "cut stream" && status === failed.status) return mistakeIn(failed, status, text);
  if (status !== 200) return wrong;
  if (end === "text") return JSON.parse(text).choices[0].message.content === saidText ? undefined : wrong;
  if (end === "vector") return JSON.parse(text).data[0].embedding.length === 3 ? undefined : wrong;
  if (end === "left") return undefined;
  const { events, done } = parseEvents<{ error?: { code: string }; choices?: { delta: { content?: string } }[] }>(text);
  const said = events.map(({ choices }) => choices?.[0]?.delta.content ?? "").join("");
  if (events.at(-1)?.error?.code === "unavailable") return busy;
  const isWhole = done && said === saidText;
  const isBroken =
    !done && events.at(-1)?.error !== undefined && saidText.startsWith(said) && (said !== "" || end === "cut stream");
  return (end === "stream" ? isWhole : isBroken) ? undefined : wrong;
}
