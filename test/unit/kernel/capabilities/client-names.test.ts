import { expect, test } from "bun:test";
import { withClientNames } from "../../../../src/kernel/capabilities/passthrough.ts";
import { messagesFormat } from "../../../../src/protocols/messages/passthrough.ts";
import { responsesFormat } from "../../../../src/protocols/responses/passthrough.ts";
import type { Call, ChatRequest, PassthroughFormat, ProviderPlugin } from "../../../../src/provider/index.ts";

/** The names by which a client reads a warning of a plugin about fields of chat. */
async function namesFor(format: PassthroughFormat, body: Record<string, unknown>, ignored: string | string[]) {
  const named: unknown[] = [];
  const open = withClientNames({ format, body }, async (_, { warn }) => warn("Left out", ignored));
  const call = { warn: (_: string, fields: unknown) => named.push(fields) } as unknown as Call<ChatRequest>;
  await open({} as ProviderPlugin, call);
  return named[0];
}

test("a plugin's warning names the fields as the protocol of the client does, where the client has sent them", async () => {
  const thinking = { thinking: { type: "enabled" }, stop_sequences: ["a"], tools: [] };
  expect(await namesFor(messagesFormat, thinking, ["reasoning_effort", "stop", "tools[3].function"])).toEqual([
    "thinking",
    "stop_sequences",
    "tools",
  ]);
  expect(await namesFor(messagesFormat, { output_config: { effort: "low" } }, "reasoning_effort")).toEqual([
    "output_config",
  ]);
  const asked = { input: [], reasoning: { effort: "low" }, max_output_tokens: 9 };
  expect(await namesFor(responsesFormat, asked, ["reasoning_effort", "max_completion_tokens", "messages[1]"])).toEqual([
    "reasoning",
    "max_output_tokens",
    "input",
  ]);
  expect(await namesFor(responsesFormat, { input: [] }, ["temperature", "reasoning_effort"])).toEqual([]);
  // The gateway may have set the limit of the output, and has to know that it was not sent.
  expect(await namesFor(responsesFormat, { input: [] }, ["temperature", "max_tokens"])).toEqual(["max_tokens"]);
});

test("a warning says which fields it is about, or that it is about none", async () => {
  const noted: unknown[] = [];
  const warn: Call<ChatRequest>["warn"] = (_, ignored) => void noted.push(ignored);
  warn("One request of two failed", []);
  // @ts-expect-error The compiler refuses a warning that leaves the fields open.
  warn("Left out something");
  // @ts-expect-error It refuses fields that are not known, too.
  warn("Left out something", undefined);
  expect(noted).toEqual([[], undefined, undefined]);
});
