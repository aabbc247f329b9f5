import { expect, test } from "bun:test";
import type { ChatRequest } from "modelgate/plugin";
import type { GatewayError } from "../../../../src/contract/index.ts";
import { LruMap } from "../../../../src/lib/lru-map.ts";
import { toContents } from "../../../../src/protocols/generate-content/outbound.ts";
import { goldenCases, sent } from "./golden.ts";
import { modelAt } from "./support.ts";

interface RequestCase {
  about: string;
  model: string;
  request: Omit<ChatRequest, "model">;
  body?: unknown;
  /** A piece of each note. */
  notes?: string[];
  refusal?: { param: string; message: string };
}

const fetched = new Map([["https://example.com/a.jpg", { mediaType: "image/jpeg", base64: "ZmV0Y2hlZA==" }]]);

function translate({ model, request }: RequestCase) {
  const signatures = new LruMap<string>(10);
  signatures.set("known", "a2VwdA==");
  const notes: string[] = [];
  const warn = (sentence: string) => void notes.push(sentence);
  return { notes, run: () => toContents({ model, ...request }, { model: modelAt(model), signatures, fetched, warn }) };
}

test.each(goldenCases<RequestCase>("requests"))("a request %s", (_, fixture) => {
  const before = JSON.stringify(fixture.request);
  const { run, notes } = translate(fixture);
  if (fixture.refusal === undefined) {
    expect(sent(run())).toEqual(fixture.body);
    expect(notes).toHaveLength(fixture.notes?.length ?? 0);
    for (const [index, piece] of (fixture.notes ?? []).entries()) expect(notes[index]).toContain(piece);
  } else {
    const error = thrown(run) as GatewayError;
    expect(error).toMatchObject({ code: "invalid_request", param: fixture.refusal.param });
    expect(error.message).toContain(fixture.refusal.message);
  }
  expect(JSON.stringify(fixture.request)).toBe(before);
});

test("a request that repeats the id of a call gets its kept signature once", () => {
  const call = { id: "known", type: "function" as const, function: { name: "f", arguments: "" } };
  const turn = [
    { role: "assistant" as const, tool_calls: [call] },
    { role: "tool" as const, tool_call_id: "known", content: "" },
  ];
  const messages = [{ role: "user" as const, content: "Go" }, ...turn, ...turn, ...turn];
  const { run } = translate({ about: "", model: "gemini-3-flash-preview", request: { messages } });
  expect(JSON.stringify(run()).split("a2VwdA==")).toHaveLength(2);
});

function thrown(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}
