import { expect, test } from "bun:test";
import { readAgentHeaders } from "../../../../src/http/lifecycle/agent-names.ts";

const session = "0b5e7a52-3c1f-4a55-9a0e-2f1a6b7c8d90";
const [child, grandchild] = ["a3f29c01d7e45b688", "a90b1ce22f7d04c13"];
const thread = "019a5b8e-7c3d-7f10-8a44-2b9d6e1f0c35";
const metadata = (fields: object) => ({
  "x-codex-turn-metadata": JSON.stringify({ session_id: session, turn_id: "t", request_kind: "turn", ...fields }),
});

test.each([
  ["Claude Code's main agent is the session", { "x-claude-code-session-id": session }, undefined, undefined],
  [
    "a first child of Claude Code has the session for a parent",
    { "x-claude-code-session-id": session, "x-claude-code-agent-id": child },
    child,
    undefined,
  ],
  [
    "a grandchild of Claude Code names its parent",
    { "x-claude-code-agent-id": grandchild, "x-claude-code-parent-agent-id": child },
    grandchild,
    child,
  ],
  ["a team mate of Claude Code has a name", { "x-claude-code-agent-id": "reviewer@team" }, "reviewer@team", undefined],
  [
    "Codex' main thread is the session",
    { "session-id": session, "thread-id": session, ...metadata({ thread_id: session }) },
    undefined,
    undefined,
  ],
  [
    "a thread that Codex spawned has the session for a parent",
    {
      "session-id": session,
      "thread-id": thread,
      "x-codex-parent-thread-id": session,
      "x-openai-subagent": "collab_spawn",
    },
    thread,
    undefined,
  ],
  [
    "a thread of a thread names it",
    { "session-id": session, "thread-id": "t-2", "x-codex-parent-thread-id": thread },
    "t-2",
    thread,
  ],
  [
    "Codex' metadata stand in for headers that a proxy removed",
    metadata({ thread_id: thread, parent_thread_id: session }),
    thread,
    undefined,
  ],
  ["a thread without a session is none of Codex'", { "thread-id": thread }, undefined, undefined],
  ["our own headers", { "x-modelgate-agent": "planner", "x-modelgate-parent-agent": "lead" }, "planner", "lead"],
  [
    "our own headers come first, and no parent is mixed in from another",
    { "x-modelgate-agent": "planner", "x-claude-code-agent-id": child, "x-claude-code-parent-agent-id": grandchild },
    "planner",
    undefined,
  ],
  ["a parent alone is none", { "x-modelgate-parent-agent": "lead" }, undefined, undefined],
  ["the longest name", { "x-modelgate-agent": "a".repeat(64) }, "a".repeat(64), undefined],
  ["a name that is too long is none", { "x-modelgate-agent": "a".repeat(65) }, undefined, undefined],
  ["a name with other characters is none", { "x-modelgate-agent": "=1+1" }, undefined, undefined],
  ["metadata that are no JSON are none", { "x-codex-turn-metadata": "{" }, undefined, undefined],
  [
    "metadata that are too long are not read",
    metadata({ thread_id: thread, padding: "x".repeat(8000) }),
    undefined,
    undefined,
  ],
  ["nothing", {}, undefined, undefined],
] as [string, Record<string, string>, string | undefined, string | undefined][])(
  "%s",
  (_, headers, agent, parentAgent) => {
    expect(readAgentHeaders(new Headers(headers))).toEqual({ agent, parentAgent });
  },
);
