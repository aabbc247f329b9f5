import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { AIMessageChunk } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { APICallError } from "ai";
import { recordingsMissing, recordingsOf } from "../../support/recordings.ts";
import { replyOf } from "../../support/reply.ts";
import { isStream, saidIn } from "../../support/said-in.ts";
import { type Bench, keepCircuitClosed, startBench } from "../replay/bench.ts";
import { type Plan, providers, replayOf } from "../replay/plan.ts";

const plans = recordingsOf(...providers)
  .map(replayOf)
  .filter((plan) => plan?.endpoint === "/chat/completions") as Plan[];
const isError = ({ recording }: Plan) => recording.path.includes("/errors/");
const rows = (list: Plan[]) => list.map((plan): [string, Plan] => [plan.recording.path, plan]);
const named = rows(plans.filter((plan) => !isError(plan)));
const refused = rows(plans.filter((plan) => isError(plan) && !isStream(plan.recording)));
const broken = rows(plans.filter((plan) => isError(plan) && isStream(plan.recording)));

/** What a client made of an answer: its text and the tools it calls. */
interface Heard {
  text: string;
  tools: [string, unknown][];
}

function recordedFor({ recording }: Plan): Heard & { refusal: string } {
  const { text = "", tools = [], refusal = "" } = saidIn(recording).choices[0] ?? {};
  return {
    refusal,
    text: text.replace(/^\s*<think>[\s\S]*?(<\/think>\s*|$)/, ""),
    tools: tools.map((tool) => [tool.name, JSON.parse(tool.arguments)]),
  };
}

const question = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hello" }] }];

/** The SDK's own model, below what generateText checks of a caller's tools. */
async function hearAiSdk({ gateway }: Bench, plan: Plan): Promise<Heard> {
  const { baseUrl: baseURL, key: apiKey } = gateway;
  const model = createOpenAICompatible({ name: "modelgate", baseURL, apiKey }).chatModel(plan.row.id);
  const heard: Heard = { text: "", tools: [] };
  const hear = (part: { type: string; text?: string; delta?: string; toolName?: string; input?: unknown }) => {
    if (part.type === "error") throw (part as { error?: unknown }).error;
    if (part.type === "text") heard.text += part.text;
    if (part.type === "text-delta") heard.text += part.delta;
    if (part.type === "tool-call") heard.tools.push([part.toolName as string, JSON.parse(part.input as string)]);
  };
  if (isStream(plan.recording)) {
    const { stream } = await model.doStream({ prompt: question });
    for await (const part of stream) hear(part as never);
  } else for (const part of (await model.doGenerate({ prompt: question })).content) hear(part as never);
  return heard;
}

async function hearLangChain({ gateway }: Bench, plan: Plan): Promise<Heard> {
  const { baseUrl: baseURL, key: apiKey } = gateway;
  const fields = { model: plan.row.id, apiKey, maxRetries: 0, useResponsesApi: false, configuration: { baseURL } };
  const chat = new ChatOpenAI(fields);
  let whole: AIMessageChunk | undefined;
  if (!isStream(plan.recording)) whole = await chat.invoke("Hello");
  else for await (const piece of await chat.stream("Hello")) whole = whole === undefined ? piece : whole.concat(piece);
  return { text: whole?.text ?? "", tools: (whole?.tool_calls ?? []).map(({ name, args }) => [name, args]) };
}

describe.skipIf(recordingsMissing !== undefined)("other clients over every provider's chat", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.stop());

  // This SDK gives a refusal out as text, the other keeps it apart.
  test.each(named)("the Vercel AI SDK reads %s as it was recorded", async (_, plan) => {
    bench.upstream.answer(plan.provider, replyOf(plan.recording));
    const { text, refusal, tools } = recordedFor(plan);
    expect(await hearAiSdk(bench, plan)).toEqual({ text: text + refusal, tools });
  });

  test.each(named)("LangChain reads %s as it was recorded", async (_, plan) => {
    bench.upstream.answer(plan.provider, replyOf(plan.recording));
    const { text, tools } = recordedFor(plan);
    expect(await hearLangChain(bench, plan)).toEqual({ text, tools });
  });

  test.each(refused)("%s is an error with its status to both", async (_, plan) => {
    // The errors of OpenAI are many for one model, whose route would be paused.
    const keepClosed = async () => {
      if (plan.provider === "openai") await keepCircuitClosed(bench, plan.row.id);
    };
    await keepClosed();
    bench.upstream.answer(plan.provider, replyOf(plan.recording));
    const { status } = await bench.gateway.post(plan.endpoint, { model: plan.row.id, messages: question });
    await keepClosed();
    bench.upstream.answer(plan.provider, replyOf(plan.recording));
    const ofVercel = await failureOf(hearAiSdk(bench, plan));
    expect(APICallError.isInstance(ofVercel)).toBe(true);
    await keepClosed();
    bench.upstream.answer(plan.provider, replyOf(plan.recording));
    // A prompt that is too long is an error of its own class there, around the one with the status.
    const ofLangChain = await failureOf(hearLangChain(bench, plan));
    expect([ofVercel?.statusCode, ofLangChain?.status ?? ofLangChain?.cause?.status]).toEqual([status, status]);
  });

  test.each(broken)("%s breaks the stream of both", async (_, plan) => {
    bench.upstream.answer(plan.provider, replyOf(plan.recording));
    for (const hear of [hearAiSdk, hearLangChain]) expect(await failureOf(hear(bench, plan))).toBeDefined();
  });
});

/** What a promise was rejected with, as far as the SDKs tell of it. */
const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: { statusCode?: number; status?: number; cause?: { status?: number } }) => error,
  );

if (recordingsMissing !== undefined) console.log(`Skipped: ${recordingsMissing}`);
