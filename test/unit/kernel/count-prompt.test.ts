import { describe, expect, test } from "bun:test";
import { builtIns } from "../../../plugins/index.ts";
import { type AdmissionRequest, GatewayError } from "../../../src/contract/index.ts";
import type { ModelEntry } from "../../../src/kernel/index.ts";
import type { Call, ChatRequest } from "../../../src/provider/index.ts";
import { fetchOf, json, refused } from "./fake-fetch.ts";
import { completionOf } from "./streams.ts";
import { chatCall, chatModel, createBench, createPlugin, rejectionOf, runCall, runOf } from "./support.ts";

const pdf = { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } };
const messages = [{ role: "user", content: [{ type: "text", text: "Sum it up" }, pdf] }];
const context = 100_000;
const model = { ...chatModel, contextTokens: context, outputTokensMax: 1000 };
const usage = { prompt_tokens: 1800, completion_tokens: 1 };

/** A wallet that holds so many tokens of a prompt and a thousand of output, for a prompt of which a provider is asked. */
function ask(
  count: (() => Promise<number>) | undefined,
  tokens: number,
  answer = completionOf("Done", usage),
  request = {},
) {
  const asked: Call<ChatRequest>[] = [];
  const countChatTokens = count && ((call: Call<ChatRequest>) => Promise.resolve(asked.push(call)).then(count));
  const plugin = createPlugin(
    { chat: async () => answer, ...(countChatTokens && { countChatTokens }) },
    { models: [model] },
  );
  const bench = createBench([plugin]);
  const { ledger } = bench;
  const admit = ledger.admit.bind(ledger);
  const refusals: AdmissionRequest[] = [];
  ledger.admit = async (admission) => {
    if (admission.minNanodollars <= tokens * 1000 + 256 * 2000) return admit(admission);
    refusals.push(admission);
    throw new GatewayError("insufficient_balance", "Insufficient balance");
  };
  let counted = 0;
  ledger.countRequest = async () => {
    counted++;
    return ledger.readLimitState();
  };
  return {
    ...bench,
    asked,
    refusals,
    requests: () => counted,
    done: runCall(bench.kernel, chatCall({ messages, ...request })),
  };
}

describe("a prompt with a PDF", () => {
  test("is held as the whole context, and the provider is not asked for a count, while the account can pay that", async () => {
    const { done, ledger, asked } = ask(async () => 1800, context);
    await done;
    expect(ledger.claims[0]?.holdNanodollars).toBe(context * 1000 + 1000 * 2000);
    expect(asked).toEqual([]);
  });

  test("is held by the provider's count where the account cannot pay for the context, which counts as a request", async () => {
    const { done, ledger, refusals, requests } = ask(async () => 1800, 5000);
    await done;
    expect(refusals).toHaveLength(1);
    expect(requests()).toBe(1);
    // A tenth and a thousand tokens more: providers call their counts estimates.
    expect(ledger.claims[0]?.holdNanodollars).toBe(2980 * 1000 + 1000 * 2000);
    expect(ledger.settlement.meters).toEqual({ inputToken: 1800, outputToken: 1 });
  });

  test("is refused where the account cannot pay for what the provider counts either", async () => {
    const { done, ledger } = ask(async () => 90_000, 5000);
    expect((await rejectionOf(done)).code).toBe("insufficient_balance");
    expect(ledger.claims).toEqual([]);
  });

  test.each<[string, (() => Promise<number>) | undefined]>([
    ["cannot count", undefined],
    ["fails to count", () => Promise.reject(new Error("no"))],
    ["refuses the request", () => Promise.reject(new GatewayError("invalid_request", "no"))],
    ["counts nothing of sense", async () => Number.NaN],
  ])("is refused for the context where the provider %s", async (_, count) => {
    const { done } = ask(count, 5000);
    expect((await rejectionOf(done)).code).toBe("insufficient_balance");
  });

  test("is charged by the provider's count where no usage is reported, and as the context where it cannot count", async () => {
    const silent = () => ({ ...completionOf("Done"), usage: undefined }) as never;
    const counted = ask(async () => 1800, context, silent());
    await counted.done;
    expect(counted.ledger.settlement).toMatchObject({ usageSource: "estimated", meters: { inputToken: 2980 } });
    const uncounted = ask(undefined, context, silent());
    await uncounted.done;
    expect(uncounted.ledger.settlement).toMatchObject({ usageSource: "estimated", meters: { inputToken: context } });
  });

  test("beside a picture by its address is not counted: another one may be there for the call", async () => {
    const picture = { type: "image_url", image_url: { url: "https://x.example/a.png" } };
    const request = { messages: [{ role: "user", content: [pdf, picture] }] };
    const silent = { ...completionOf("Done"), usage: undefined } as never;
    const { done, asked } = ask(async () => 1800, 5000, undefined, request);
    expect((await rejectionOf(done)).code).toBe("insufficient_balance");
    const unreported = ask(async () => 1800, context, silent, request);
    await unreported.done;
    expect(unreported.ledger.settlement.meters).toMatchObject({ inputToken: context });
    expect([...asked, ...unreported.asked]).toEqual([]);
  });

  test("with the deprecated functions is not counted, since a count would miss them", async () => {
    const { done, asked } = ask(async () => 1800, 5000, undefined, { functions: [{ name: "f" }] });
    expect((await rejectionOf(done)).code).toBe("insufficient_balance");
    expect(asked).toEqual([]);
  });
});

test("a prompt whose bytes bound it is not counted, however little the account has", async () => {
  const { done, asked } = ask(async () => 1, 5, undefined, { messages: [{ role: "user", content: "a".repeat(5000) }] });
  expect((await rejectionOf(done)).code).toBe("insufficient_balance");
  expect(asked).toEqual([]);
});

describe("the count of a chat request", () => {
  test.each<[string, string, object, (body: Record<string, unknown>) => void]>([
    [
      "anthropic",
      "/messages/count_tokens",
      { input_tokens: 1800 },
      (body) => expect(Object.keys(body).sort()).toEqual(["messages", "model"]),
    ],
    [
      "gemini",
      ":countTokens",
      { totalTokens: 1800 },
      (body) => expect(body.generateContentRequest).toMatchObject({ contents: [{ role: "user" }] }),
    ],
    [
      "openai",
      "/responses/input_tokens",
      { input_tokens: 1800 },
      (body) => expect(body).toMatchObject({ input: [{ role: "user" }] }),
    ],
  ])("is asked of %s at %s, with what costs tokens and nothing else", async (name, path, answer, expectBody) => {
    const plugin = builtIns.find((one) => one.name === name);
    const row = plugin?.models.find((one) => one.capability === "chat" && one.features?.includes("pdf"));
    const fetch = fetchOf(json(answer));
    const bench = createBench(plugin === undefined ? [] : [plugin], {
      fetch,
      credentials: { [name]: { keys: ["key-a"] } },
    });
    const { countPrompt } = await import("../../../src/kernel/capabilities/chat-count.ts");
    const modelEntry = bench.kernel.registry.byName(row?.id as string) as ModelEntry;
    const run = runOf(chatCall({ model: row?.id, messages }), modelEntry);
    expect(await countPrompt(bench.kernel, run)).toBe(2980);
    expect(fetch.asked[0]?.url).toEndWith(path);
    expectBody(fetch.asked[0]?.body as Record<string, unknown>);
    const failing = createBench(plugin === undefined ? [] : [plugin], { fetch: fetchOf(refused(500)) });
    expect(await countPrompt(failing.kernel, run)).toBeUndefined();
  });
});
