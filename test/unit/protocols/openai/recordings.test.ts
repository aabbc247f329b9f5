import { describe, expect, test } from "bun:test";
import { chat as groq } from "../../../../plugins/groq/options.ts";
import { chat as openai } from "../../../../plugins/openai/options.ts";
import type { ChatUsage } from "../../../../src/contract/index.ts";
import { OpenaiStream, toCompletion } from "../../../../src/protocols/openai/chat.ts";
import type { ChatOptions } from "../../../../src/protocols/openai/request.ts";
import type { ChatCompletion, ChunkChoice, ToolCall } from "../../../../src/provider/index.ts";
import { type Recording, recordingAt, recordingsMissing, recordingsOf } from "../../../support/recordings.ts";
import { drain, eventsOf } from "../../sdk/fake-call.ts";

const optionsBy: Record<string, ChatOptions> = { openai, groq, together: {} };
const foreign = ["x_groq", "usage_breakdown", "executed_tools", "channel", "reasoning", "queue_time", "total_time"];
const known = ["stop", "length", "tool_calls", "content_filter", "function_call"];

const text = ({ body }: Recording) => new TextDecoder().decode(body);
const all = recordingsOf("openai", "groq", "together").filter(({ status }) => status === 200);
const completions = all.filter(
  ({ path, body }) =>
    path.endsWith(".json") && /"chat\.completion"/.test(new TextDecoder().decode(body.subarray(0, 100_000))),
);
const streams = all.filter(
  ({ path, capability }) => path.endsWith(".sse") && capability !== "errors" && capability !== "audio-transcription",
);

if (recordingsMissing !== undefined) test.skip(recordingsMissing, () => undefined);

/** What of a raw message or its joined deltas a client must find again. */
interface Raw {
  content?: string | null;
  reasoning?: string | null;
  refusal?: string | null;
  tool_calls?: ToolCall[];
  function_call?: unknown;
}

function countsOf(usage: ChatUsage | undefined) {
  return usage && { prompt: usage.prompt_tokens, completion: usage.completion_tokens, total: usage.total_tokens };
}

describe("a recorded completion", () => {
  test.each(completions.map(({ path }) => path))(
    "%s comes out with its text, tool calls, finish reason and usage",
    (path) => {
      const recording = recordingAt(path);
      const raw = JSON.parse(text(recording)) as ChatCompletion;
      const options = optionsBy[recording.provider] as ChatOptions;
      const isLegacy = raw.choices.some(({ message }) => (message as Raw).function_call !== undefined);
      const result = toCompletion(JSON.parse(text(recording)), options, isLegacy);
      expect(countsOf(result.usage)).toEqual(countsOf(raw.usage));
      for (const [index, choice] of raw.choices.entries()) {
        const before = choice.message as Raw;
        const after = result.choices[index]?.message as Raw & { reasoning_content?: string };
        const hadThought = before.content?.startsWith("<think>") === true;
        if (hadThought) expect(before.content?.endsWith(after.content as string)).toBe(true);
        else expect(after.content as string).toBe(before.content as string);
        expect(after.tool_calls).toEqual(before.tool_calls as ToolCall[]);
        expect(after.function_call).toEqual(before.function_call);
        expect(after.refusal).toBe(before.refusal as string);
        if (typeof before.reasoning === "string") expect(after.reasoning_content).toBe(before.reasoning);
        const reason = result.choices[index]?.finish_reason as string;
        expect(known).toContain(reason);
        if (known.includes(choice.finish_reason as string)) expect(reason).toBe(choice.finish_reason as string);
      }
      for (const field of foreign) expect(JSON.stringify(result)).not.toContain(`"${field}":`);
    },
  );
});

/** The choices of a stream, their pieces joined, as a client does. */
function join(choices: ChunkChoice[]) {
  const joined = {
    content: "",
    reasoning: "",
    calls: [] as { id: string; name: string; arguments: string }[],
    finish: "",
  };
  for (const { delta, finish_reason } of choices) {
    joined.content += delta.content ?? "";
    joined.reasoning += delta.reasoning_content ?? (delta.reasoning as string | undefined) ?? "";
    for (const { index = 0, id, function: called } of delta.tool_calls ?? []) {
      joined.calls[index] ??= { id: id as string, name: called?.name as string, arguments: "" };
      (joined.calls[index] as { arguments: string }).arguments += called?.arguments ?? "";
    }
    joined.finish = finish_reason ?? joined.finish;
  }
  return joined;
}

function rawChunks(recording: Recording) {
  const data = text(recording)
    .split("\n")
    .filter((line) => line.startsWith("data: {"));
  return data.map((line) => JSON.parse(line.slice(6)));
}

describe("a recorded stream", () => {
  test.each(streams.map(({ path }) => path))(
    "%s comes out with its text, tool calls, finish reason and usage",
    async (path) => {
      const recording = recordingAt(path);
      const raw = rawChunks(recording);
      const { items, error } = await drain(
        new OpenaiStream(eventsOf(recording.body), optionsBy[recording.provider] as ChatOptions),
      );
      expect(error).toBeUndefined();
      const before = join(raw.flatMap(({ choices }) => choices));
      const after = join(items.flatMap(({ choices }) => choices));
      expect(after.calls).toEqual(before.calls);
      for (const call of after.calls) expect(() => JSON.parse(call.arguments)).not.toThrow();
      expect(after.finish).toBe(before.finish);
      const [, thought, answer] = /^<think>\n?([\s\S]*?)(?:<\/think>\s*([\s\S]*))?$/.exec(before.content) ?? [];
      expect(after.content).toBe(answer ?? (thought === undefined ? before.content : ""));
      expect(after.reasoning).toBe(thought ?? before.reasoning);
      const usage = raw.map((chunk) => chunk.usage ?? chunk.x_groq?.usage).findLast(Boolean);
      expect(countsOf(items.map((chunk) => chunk.usage).findLast(Boolean) ?? undefined)).toEqual(countsOf(usage));
      const kept = items.map(({ choices, usage: report }) => ({ choices, report }));
      for (const field of foreign) expect(JSON.stringify(kept)).not.toContain(`"${field}":`);
    },
  );

  test.skipIf(recordingsMissing !== undefined).each([
    ["openai/errors/200-stream-error-mid-stream.sse", { kind: "server_error" }],
    [
      "groq/errors/200-stream-error-event-mid-stream.sse",
      { kind: "bad_request", code: "tool_use_failed", status: 400 },
    ],
  ])("%s ends in its error", async (path, fault) => {
    const { items, error } = await drain(new OpenaiStream(eventsOf(recordingAt(path).body), {}));
    expect(items.length).toBeGreaterThan(0);
    expect(error).toMatchObject(fault);
  });
});
