import { afterEach, describe, expect, test } from "bun:test";
import { parseEvents } from "../../support/sse.ts";
import { chatReply, claude, type NativeBench, startNative } from "./fixture.ts";

let bench: NativeBench | undefined;
afterEach(async () => {
  await bench?.stop();
  bench = undefined;
});

/** What the description of Open Responses lists as required, and what it takes as a value. */
const isNumber = (value: unknown) => typeof value === "number";
const isTextOrNull = (value: unknown) => value === null || typeof value === "string";
const isGiven = (value: unknown) => value !== undefined;
const required: Record<string, (value: unknown) => boolean> = {
  ...Object.fromEntries(
    `id object created_at completed_at status incomplete_details model previous_response_id instructions output error
    tools tool_choice truncation parallel_tool_calls text reasoning usage max_output_tokens max_tool_calls store
    background metadata`
      .split(/\s+/)
      .map((name) => [name, isGiven]),
  ),
  top_p: isNumber,
  presence_penalty: isNumber,
  frequency_penalty: isNumber,
  top_logprobs: isNumber,
  temperature: isNumber,
  service_tier: (value) => typeof value === "string",
  safety_identifier: isTextOrNull,
  prompt_cache_key: isTextOrNull,
  user: isTextOrNull,
};

function missingIn(response: Record<string, unknown>): string[] {
  return Object.keys(required).filter((name) => required[name]?.(response[name]) !== true);
}

async function ask(extra: object): Promise<Record<string, unknown>[]> {
  bench = await startNative((seen) => chatReply(seen), { backup: "first" });
  const body = { model: claude, input: "Hi", store: false, ...extra };
  const whole = await bench.ask("/responses", body);
  const streamed = await bench.ask("/responses", { ...body, stream: true });
  expect([whole.status, streamed.status]).toEqual([200, 200]);
  const { events } = parseEvents<{ response?: Record<string, unknown> }>(await streamed.text());
  const carried = events.flatMap(({ response }) => response ?? []);
  expect(carried).toHaveLength(3);
  return [await whole.json(), ...carried];
}

describe("a response that was translated from chat", () => {
  test("has every field that Open Responses requires, in each event too", async () => {
    for (const response of await ask({})) {
      expect(missingIn(response)).toEqual([]);
      expect(response).toMatchObject({ temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 });
      expect(response).toMatchObject({ service_tier: "default", safety_identifier: null, prompt_cache_key: null });
      if (response.status === "in_progress") expect(response.usage).toBeNull();
    }
  });

  test("repeats what the request says in place of what it does not", async () => {
    const said = { temperature: 0, top_p: 0.5, safety_identifier: "s", prompt_cache_key: "k", user: "u" };
    for (const response of await ask(said)) {
      expect(missingIn(response)).toEqual([]);
      expect(response).toMatchObject(said);
    }
  });
});
