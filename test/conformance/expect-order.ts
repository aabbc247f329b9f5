import { expect } from "bun:test";
import type { ChatChunk } from "../../src/provider/index.ts";

/** Fields of a chunk that not every model of one provider has either. */
const optionalFields = ["system_fingerprint", "service_tier"];
const contentFields = [
  "content",
  "reasoning_content",
  "reasoning_details",
  "refusal",
  "annotations",
  "tool_calls",
  "function_call",
];

/**
 * The one order of events that every provider's stream has, so that a client cannot tell them apart: in each choice the
 * role alone, then pieces that say something, then the reason alone; after all of them the usage, if asked for.
 */
export function expectOrder(chunks: readonly ChatChunk[], includesUsage: boolean): void {
  expectHeads(chunks, includesUsage);
  const report = includesUsage ? chunks.at(-1) : undefined;
  if (report !== undefined) {
    expect(report.choices).toEqual([]);
    expect(Object.keys(report.usage ?? {})).toContainValues(["prompt_tokens", "completion_tokens", "total_tokens"]);
  }
  const pieces = (includesUsage ? chunks.slice(0, -1) : chunks).flatMap(({ choices }) => {
    expect(choices.length).toBe(1);
    return choices;
  });
  const indexes = [...new Set(pieces.map(({ index }) => index))].sort((one, other) => one - other);
  expect(indexes).toEqual(indexes.map((_, place) => place));
  for (const index of indexes) expectChoice(pieces.filter((piece) => piece.index === index));
}

function expectHeads(chunks: readonly ChatChunk[], includesUsage: boolean): void {
  const fields = ["id", "object", "created", "model", "choices", ...(includesUsage ? ["usage"] : [])];
  for (const chunk of chunks) {
    const own = Object.keys(chunk).filter((field) => !optionalFields.includes(field));
    expect(own.sort()).toEqual([...fields].sort());
    expect(chunk.object).toBe("chat.completion.chunk");
    if (includesUsage && chunk !== chunks.at(-1)) expect(chunk.usage).toBeNull();
  }
  for (const field of ["id", "created", "model"] as const) {
    expect(new Set(chunks.map((chunk) => chunk[field])).size).toBe(1);
  }
}

function expectChoice(pieces: ChatChunk["choices"]): void {
  const [role, ...rest] = pieces;
  for (const piece of pieces) {
    // Told to Messages clients; those of chat do not see it.
    const { stop_sequence: _, ...shown } = piece;
    expect(Object.keys(shown).sort()).toEqual(["delta", "finish_reason", "index", "logprobs"]);
  }
  expect(Object.keys(role?.delta ?? {}).sort()).toEqual(["content", "refusal", "role"]);
  expect(role?.delta).toMatchObject({ role: "assistant", refusal: null });
  expect(role?.delta.content || null).toBeNull();
  const end = rest.pop();
  expect(end?.delta).toEqual({});
  expect(end?.finish_reason).toBeOneOf(["stop", "length", "tool_calls", "content_filter", "function_call"]);
  for (const { delta, finish_reason: reason } of rest) {
    expect(reason).toBeNull();
    expect(Object.keys(delta).filter((field) => !contentFields.includes(field))).toEqual([]);
    expect(Object.keys(delta).length).toBeGreaterThan(0);
  }
  expectToolCalls(rest.flatMap(({ delta }) => delta.tool_calls ?? []));
}

/** Indexes 0…n−1 in the order in which the calls begin, each id once, and arguments that are JSON. */
function expectToolCalls(pieces: NonNullable<ChatChunk["choices"][number]["delta"]["tool_calls"]>): void {
  const ids: string[] = [];
  const texts: string[] = [];
  for (const { index = -1, id, type, function: called } of pieces) {
    if (texts[index] === undefined) {
      expect({ index, type }).toEqual({ index: texts.length, type: "function" });
      expect(id).toBeTruthy();
      expect(called?.name).toBeTruthy();
      ids.push(id as string);
      texts.push("");
    } else expect(id).toBeUndefined();
    texts[index] += called?.arguments ?? "";
  }
  expect(new Set(ids).size).toBe(ids.length);
  for (const text of texts) expect(typeof JSON.parse(text)).toBe("object");
}
