/** Puts values together that a stream has in pieces. */
import { isRecord } from "../../lib/json.ts";
import type { ToolCall, ToolCallDelta } from "../../provider/index.ts";

/** Appends texts and lists; joins objects member by member. Any other value replaces the previous one. */
export function joinPieces(before: unknown, piece: unknown): unknown {
  if (typeof before === "string" && typeof piece === "string") return before + piece;
  if (Array.isArray(before) && Array.isArray(piece)) return [...before, ...piece];
  if (!isRecord(before) || !isRecord(piece)) return piece ?? before;
  const joined: Record<string, unknown> = { ...before };
  for (const [name, member] of Object.entries(piece)) joined[name] = joinPieces(joined[name], member);
  return joined;
}

/** Calls as the normalizer gives them: the first piece of each has its id and name. */
export function addCalls(calls: ToolCall[], pieces: readonly ToolCallDelta[]): ToolCall[] {
  for (const { index = 0, ...piece } of pieces) calls[index] = joinPieces(calls[index], piece) as ToolCall;
  return calls;
}
