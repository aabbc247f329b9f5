import { isRecord, parseJson } from "../../lib/json.ts";

/** Tags and agents: the same characters as sessions, at most 64. Anything else is ignored. */
const tagForm = /^[A-Za-z0-9][\w.:/+=@ -]{0,63}$/;

export function toTag(name: unknown): string | undefined {
  return typeof name === "string" && tagForm.test(name) ? name : undefined;
}

/** The agent of a session that makes a request, and the one that started it. */
interface AgentNames {
  /** Absent: the session itself, which is no agent of another. */
  readonly agent: string | undefined;
  /** Absent: the session itself started it. */
  readonly parentAgent: string | undefined;
}

const noAgent: AgentNames = { agent: undefined, parentAgent: undefined };

/** Longer ones are not read; Codex' has about 700 characters. */
const metadataCharactersMax = 8000;

/**
 * Reads which agent makes a request: by our own headers, else by Claude Code's, else by Codex'. The first of them that names an agent
 * also names its parent, because two clients call different things so.
 */
export function readAgentHeaders(headers: Headers): AgentNames {
  for (const client of ["x-modelgate", "x-claude-code"] as const) {
    const suffix = client === "x-modelgate" ? "" : "-id";
    const agent = toTag(headers.get(`${client}-agent${suffix}`));
    if (agent !== undefined) return { agent, parentAgent: toTag(headers.get(`${client}-parent-agent${suffix}`)) };
  }
  return readThread(headers);
}

/** Codex' headers that name session and agent, which it repeats in the `client_metadata` of a frame. */
const threadHeaders = ["session-id", "thread-id", "x-codex-parent-thread-id", "x-codex-turn-metadata"] as const;

/** Adds what the `client_metadata` of a frame says of session and agent to the headers of its handshake that do not say it. */
export function addNamesOfMetadata(headers: Headers, metadata: unknown): void {
  if (!isRecord(metadata)) return;
  const ofTurn = readMetadata(metadata["x-codex-turn-metadata"]);
  const names: Record<(typeof threadHeaders)[number], unknown> = {
    "session-id": metadata["session-id"] ?? metadata.session_id ?? ofTurn?.session_id,
    "thread-id": metadata["thread-id"] ?? metadata.thread_id ?? ofTurn?.thread_id,
    "x-codex-parent-thread-id":
      metadata["x-codex-parent-thread-id"] ?? metadata.parent_thread_id ?? ofTurn?.parent_thread_id,
    "x-codex-turn-metadata": metadata["x-codex-turn-metadata"],
  };
  for (const name of threadHeaders) {
    const value = names[name];
    const isUsable = typeof value === "string" && value.length <= metadataCharactersMax && /^[\x20-\x7e]+$/.test(value);
    if (isUsable && !headers.has(name)) headers.set(name, value);
  }
}

/**
 * Codex calls an agent a thread. The first thread of a session has the session's name; the threads that it starts name it as their
 * parent. Headers are repeated in metadata, which a proxy may have left alone.
 */
function readThread(headers: Headers): AgentNames {
  const thread = headers.get("thread-id");
  // The first thread of a session, as most are: there is nothing more to read.
  if (thread !== null && thread === headers.get("session-id")) return noAgent;
  const metadata = readMetadata(headers.get("x-codex-turn-metadata"));
  const session = headers.get("session-id") ?? metadata?.session_id;
  const agent = toTag(thread ?? metadata?.thread_id);
  if (typeof session !== "string" || agent === undefined || agent === session) return noAgent;
  const parentAgent = toTag(headers.get("x-codex-parent-thread-id") ?? metadata?.parent_thread_id);
  return { agent, parentAgent: parentAgent === session ? undefined : parentAgent };
}

function readMetadata(text: unknown): Record<string, unknown> | undefined {
  if (typeof text !== "string" || text.length > metadataCharactersMax) return undefined;
  const metadata = parseJson(text);
  return isRecord(metadata) ? metadata : undefined;
}
