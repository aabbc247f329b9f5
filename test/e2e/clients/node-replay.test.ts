import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI, { APIError } from "openai";
import type { ChatCompletion, ChatCompletionCreateParamsNonStreaming } from "openai/resources/chat/completions";
import { recordingsMissing, recordingsOf } from "../../support/recordings.ts";
import { replyOf } from "../../support/reply.ts";
import { isStream, saidIn } from "../../support/said-in.ts";
import { type Bench, startBench } from "../replay/bench.ts";
import { type Plan, providers, replayOf } from "../replay/plan.ts";

const plans = recordingsOf(...providers)
  .map(replayOf)
  .filter((plan) => plan?.endpoint === "/chat/completions") as Plan[];
const answered = plans.filter(({ recording }) => !recording.path.includes("/errors/"));
const failed = plans.filter(({ recording }) => recording.path.includes("/errors/"));
const named = (list: Plan[]) => list.map((plan): [string, Plan] => [plan.recording.path, plan]);

/** The client's class for each status, as its documentation has it. */
const classes: Record<number, unknown> = {
  400: OpenAI.BadRequestError,
  429: OpenAI.RateLimitError,
  500: OpenAI.InternalServerError,
};

/** What the answer says, by the client's own reading: arguments of tools as values. */
function readBack({ choices }: ChatCompletion): unknown {
  return choices.map(({ message, finish_reason }) => ({
    text: message.content ?? "",
    tools: (message.tool_calls ?? []).map((call) =>
      call.type === "function" ? [call.function.name, JSON.parse(call.function.arguments)] : [],
    ),
    finish: finish_reason,
  }));
}

function recordedFor({ recording }: Plan): unknown {
  return saidIn(recording).choices.map(({ text, tools, finish }) => ({
    text: text.replace(/^\s*<think>[\s\S]*?(<\/think>\s*|$)/, ""),
    tools: tools.map((tool) => [tool.name, JSON.parse(tool.arguments)]),
    finish: finish === "eos" ? "stop" : finish,
  }));
}

describe.skipIf(recordingsMissing !== undefined)("the official client over every provider's chat", () => {
  let bench: Bench;
  let client: OpenAI;
  beforeAll(async () => {
    bench = await startBench();
    client = new OpenAI({ baseURL: bench.gateway.baseUrl, apiKey: bench.gateway.key, maxRetries: 0 });
  });
  afterAll(() => bench.stop());

  const ask = async ({ recording, provider, body }: Plan): Promise<ChatCompletion> => {
    bench.upstream.answer(provider, replyOf(recording));
    const params = body as unknown as ChatCompletionCreateParamsNonStreaming;
    if (!isStream(recording)) return client.chat.completions.create(params);
    return client.chat.completions.stream({ ...params, stream: true }).finalChatCompletion();
  };

  test.each(named(answered))("%s reads as it was recorded", async (_, plan) => {
    // The client's own helper refuses an answer cut off by a filter or by its length, as it documents.
    const refusal = await ask(plan).then(
      (completion) => expect(readBack(completion)).toEqual(recordedFor(plan)),
      (error: Error) => error.constructor.name,
    );
    const finish = saidIn(plan.recording).choices[0]?.finish;
    if (refusal !== undefined) expect([refusal, finish]).toEqual([expect.stringMatching(/FinishReasonError$/), finish]);
  });

  test.each(named(failed))("%s is an error of the right class", async (_, plan) => {
    const error = await ask(plan).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(APIError);
    const { status } = error as APIError;
    if (status !== undefined) expect(error).toBeInstanceOf(classes[status] as new () => Error);
    else expect(isStream(plan.recording)).toBe(true);
  });
});

if (recordingsMissing !== undefined) console.log(`Skipped: ${recordingsMissing}`);
