import { afterAll, beforeAll, expect, test } from "bun:test";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { eventsReply, jsonReply, type Reply } from "../../support/reply.ts";

let gateway: InProcessGateway;
let upstream: ReplayUpstream;

beforeAll(async () => {
  upstream = await startReplayUpstream();
  gateway = await startInProcess({
    env: { SANDBOX: "off", LAB_API_KEY: "k" },
    files: {
      "plugins/lab.json": {
        name: "lab",
        baseUrl: upstream.baseUrlOf("lab", "/v1"),
        dialect: "openai",
        models: [{ id: "lab/m", premium: false, contextTokens: 8000, outputTokensMax: 1000 }],
      },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

const usageOf = (prompt_tokens: number, completion_tokens: number): Usage => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
});
const head = { id: "c", created: 1, model: "m" };
const texts = ["One answer.", "Another answer, longer."];

interface Choices {
  /** What each choice reports. */
  ofChoices: (Usage | undefined)[];
  /** What is reported of all of them. */
  ofAll?: Usage;
  finish?: string;
}

function wholeReply({ ofChoices, ofAll, finish = "stop" }: Choices): Reply {
  const choices = ofChoices.map((usage, index) => ({
    index,
    message: { role: "assistant", content: texts[index] },
    finish_reason: finish,
    usage,
  }));
  return jsonReply({ ...head, object: "chat.completion", choices, usage: ofAll });
}

function streamedReply({ ofChoices, ofAll, finish = "stop" }: Choices): Reply {
  const chunk = (choices: object[], usage?: Usage) => ({ ...head, object: "chat.completion.chunk", choices, usage });
  const pieces = ofChoices.map((_, index) => chunk([{ index, delta: { content: texts[index] }, finish_reason: null }]));
  const ends = ofChoices.map((usage, index) => chunk([{ index, delta: {}, finish_reason: finish, usage }]));
  return eventsReply(...pieces, ...ends, ...(ofAll === undefined ? [] : [chunk([], ofAll)]), "[DONE]");
}

/** Asks for as many choices as are answered. Returns what the client is told that it used, and what was charged. */
async function ask(reply: Reply, form: "whole" | "stream", n: number): Promise<{ told: unknown; charged: string }> {
  upstream.answer("lab", reply);
  const response = await gateway.post("/chat/completions", {
    model: "lab/m",
    messages: [{ role: "user", content: "Hi" }],
    n,
    ...(form === "stream" && { stream: true, stream_options: { include_usage: true } }),
  });
  const text = await response.text();
  const last = form === "whole" ? text : (text.split("\n\n").at(-3) ?? "").replace(/^data: /, "");
  const { usage } = JSON.parse(last) as { usage?: Usage };
  const row = gateway.ledger.call(response.headers.get("x-request-id") ?? "");
  return {
    told: usage && [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens],
    charged: row === undefined ? "nothing" : `${row.input_tokens} + ${row.output_tokens} ${row.usage_source}`,
  };
}

test.each<[string, Choices, [number, number]]>([
  ["reports its own output adds up, with the prompt once", { ofChoices: [usageOf(12, 20), usageOf(12, 34)] }, [12, 54]],
  ["repeats the report of all of them is charged once", { ofChoices: [usageOf(12, 34), usageOf(12, 34)] }, [12, 34]],
  ["was cut at the same length adds up", { ofChoices: [usageOf(12, 34), usageOf(12, 34)], finish: "length" }, [12, 68]],
  [
    "reports beside a report of all of them is charged by the latter",
    { ofChoices: [usageOf(12, 20), usageOf(12, 34)], ofAll: usageOf(12, 60) },
    [12, 60],
  ],
  ["but the last reports nothing is charged by the last", { ofChoices: [undefined, usageOf(12, 54)] }, [12, 54]],
  ["leaves the prompt to the first has it once", { ofChoices: [usageOf(12, 20), usageOf(0, 34)] }, [12, 54]],
])("an answer of two choices, each of which %s, whole and streamed", async (_, choices, [input, output]) => {
  const expected = { told: [input, output, input + output], charged: `${input} + ${output} reported` };
  const whole = await ask(wholeReply(choices), "whole", 2);
  const streamed = await ask(streamedReply(choices), "stream", 2);
  expect({ whole, streamed }).toEqual({ whole: expected, streamed: expected });
});

const piece = { ...head, choices: [{ index: 0, delta: { role: "assistant", content: "Hi" }, finish_reason: "stop" }] };
const report = { ...head, choices: [], usage: usageOf(12, 34) };
const withFault = (reply: Reply, kind: "hangAfter" | "cutAfter"): Reply => ({
  ...reply,
  slices: 3,
  fault: { kind, bytes: reply.body.length },
});

test("usage behind the mark of the end is charged, also where the connection stays open or breaks off behind it", async () => {
  const reply = eventsReply(piece, "[DONE]", report);
  for (const sent of [reply, withFault(reply, "hangAfter"), withFault(reply, "cutAfter")]) {
    expect(await ask(sent, "stream", 1)).toEqual({ told: [12, 34, 46], charged: "12 + 34 reported" });
  }
  upstream.cut();
});

test("a figure from before the end does not stand for the report behind the mark of the end", async () => {
  const early = {
    ...head,
    choices: [{ index: 0, delta: { content: "" }, finish_reason: null }],
    usage: usageOf(12, 1),
  };
  const { charged } = await ask(eventsReply(early, piece, "[DONE]", report), "stream", 1);
  expect(charged).toBe("12 + 34 reported");
});

test("an answer without a report ends soon after the mark of its end, although its connection stays open", async () => {
  const { charged } = await ask(withFault(eventsReply(piece, "[DONE]"), "hangAfter"), "stream", 1);
  expect(charged).toEndWith(" estimated");
  upstream.cut();
});

test("an answer that has reported its usage is not waited for behind the mark of its end", async () => {
  // What came later would be charged if it were read.
  const late = { ...head, choices: [], usage: usageOf(12, 99) };
  const { charged } = await ask(eventsReply(piece, report, "[DONE]", late), "stream", 1);
  expect(charged).toBe("12 + 34 reported");
});
