import { describe, expect, test } from "bun:test";
import { encode } from "gpt-tokenizer/encoding/cl100k_base";
import { UpstreamError } from "../../../../src/contract/index.ts";
import { floatsToBase64 } from "../../../../src/lib/base64.ts";
import {
  type Call,
  type Embeddings,
  type EmbeddingsBody,
  type EmbeddingsRequest,
  embeddingTokensMax,
  type Model,
} from "../../../../src/provider/index.ts";
import { callOf, chatModel, createBench, createPlugin, rejectionOf, runCall } from "../support.ts";

const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
const row: Model = {
  ...plain,
  id: "embed-1",
  capability: "embeddings",
  price: { inputToken: { usd: "1", per: 1_000_000 } },
  inputTokensMax: 20,
  dimensions: { default: 4, min: 2, max: 4 },
};

function ask(request: Partial<EmbeddingsBody>, answer: unknown = { vectors: [[1, 2]] }, changes: Partial<Model> = {}) {
  const embeddings = async () => {
    if (answer instanceof Error) throw answer;
    return answer as Embeddings;
  };
  const bench = createBench([createPlugin({ embeddings }, { models: [{ ...row, ...changes }] })]);
  return {
    ...bench,
    done: runCall(bench.kernel, callOf("embeddings", { model: "embed-1", input: "Hello", ...request })),
  };
}

describe("embeddings", () => {
  test("come in order with our model name, and the provider's count is charged", async () => {
    const answer = { vectors: [[1], [2]], usage: { prompt_tokens: 7 } };
    const { done, ledger } = ask({ input: ["a", "b"] }, answer);
    expect(await done).toEqual({
      object: "list",
      model: "embed-1",
      data: [
        { object: "embedding", index: 0, embedding: [1] },
        { object: "embedding", index: 1, embedding: [2] },
      ],
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
    expect(ledger.settlement).toMatchObject({
      usageSource: "reported",
      meters: { inputToken: 7 },
      costNanodollars: 7000,
    });
  });

  test.each([undefined, { prompt_tokens: 0 }, { prompt_tokens: -1 }, { prompt_tokens: 1.5 }])(
    "are counted here where the provider reports %p",
    async (usage) => {
      const { done, ledger } = ask({ input: ["Hello world", "Hello"] }, { vectors: [[1], [2]], usage });
      expect((await done).usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
      expect(ledger.settlement).toMatchObject({ usageSource: "estimated", meters: { inputToken: 3 } });
    },
  );

  const text = floatsToBase64([0.5, -1]);
  test.each([
    ["floats", [0.5, -1], "float", [0.5, -1]],
    ["floats", [0.5, -1], "base64", text],
    ["base64", text, "base64", text],
    ["base64", text, "float", [0.5, -1]],
    ["base64", text, null, [0.5, -1]],
  ] as const)("made as %s (%p) and wanted as %p are %p", async (_, vector, encoding_format, wanted) => {
    const { done } = ask({ encoding_format }, { vectors: [vector] });
    expect((await done).data[0]?.embedding).toEqual(wanted as unknown as number[]);
  });

  test.each([
    ["too few", { vectors: [] }],
    ["too many", { vectors: [[1], [2]] }],
    ["no list", { vectors: "many" }],
    ["nothing", null],
    ["a list of nothing", { vectors: [null] }],
    ["text that is no base64", { vectors: ["***"] }],
    ["base64 of no whole floats", { vectors: ["AAA="] }],
  ])("that are %s are the provider's failure, and free", async (_, answer) => {
    const { done, ledger } = ask({}, answer);
    expect((await rejectionOf(done)).code).toBe("upstream_error");
    expect(ledger.settlement).toMatchObject({ outcome: "released", usageSource: "none" });
  });

  test("that fail are free", async () => {
    const { done, ledger } = ask({}, new UpstreamError("overloaded", "Busy"));
    await rejectionOf(done);
    expect(ledger.settlement.outcome).toBe("released");
  });

  test("hold a token for each byte", async () => {
    const { done, ledger } = ask({ input: ["abc", "abcd"] }, { vectors: [[1], [2]] });
    await done;
    expect(ledger.claims[0]).toMatchObject({ holdNanodollars: 7000, minNanodollars: 7000, limitTokens: 7 });
  });
});

describe("an embedding request is refused before anything is held", () => {
  const words = (count: number) => "word ".repeat(count).trim();

  test.each<[string, Partial<EmbeddingsBody>, Partial<Model>, string | undefined]>([
    ["with the fewest dimensions", { dimensions: 2 }, {}, undefined],
    ["with the most dimensions", { dimensions: 4 }, {}, undefined],
    ["with one too few", { dimensions: 1 }, {}, "dimensions"],
    ["with one too many", { dimensions: 5 }, {}, "dimensions"],
    ["with null", { dimensions: null }, {}, undefined],
    ["with the only size", { dimensions: 3 }, { dimensions: { default: 3, min: 3, max: 3 } }, undefined],
    ["with another than the only", { dimensions: 4 }, { dimensions: { default: 3, min: 3, max: 3 } }, "dimensions"],
    ["of as many tokens as taken", { input: words(20) }, {}, undefined],
    ["of far more bytes than tokens are taken", { input: words(10_000) }, {}, "input"],
    ["whose second input is so", { input: ["a", words(10_000)] }, {}, "input[1]"],
    ["of any length where none is known", { input: words(21) }, { inputTokensMax: 100_000 }, undefined],
    [
      "of too much in all",
      { input: Array(8).fill("x".repeat(embeddingTokensMax + 1)) },
      { inputTokensMax: 400_000 },
      "input",
    ],
  ])("%s", async (_, request, changes, param) => {
    const count = Array.isArray(request.input) ? request.input.length : 1;
    const { done, ledger } = ask(request, { vectors: Array(count).fill([1]) }, changes);
    if (param === undefined) {
      await done;
      return;
    }
    expect(await rejectionOf(done)).toMatchObject({ status: 400, param });
    expect([ledger.claims, ledger.settlements]).toEqual([[], []]);
  });
});

describe("the tokens of an input", () => {
  const words = (count: number) => "word ".repeat(count).trim();
  const openai = { upstreamId: "text-embedding-3-small" };

  test.each<[string, EmbeddingsBody["input"], Partial<Model>, string | undefined]>([
    ["as many as OpenAI's model takes", words(20), openai, undefined],
    ["one more", words(21), openai, "input"],
    ["one more in the second input", ["a", words(21)], openai, "input[1]"],
    // 20 tokens of cl100k, 40 of o200k.
    ["as many in the model's own vocabulary, and more in another", "getElementById".repeat(10), openai, undefined],
    ["a quarter more by a foreign vocabulary", words(25), {}, undefined],
    ["one more than that", words(26), {}, "input"],
  ])("%s: are counted once the call is admitted, and cost nothing", async (_, input, changes, param) => {
    const { done, ledger } = ask({ input }, { vectors: [[1], [2]].slice(0, [input].flat().length) }, changes);
    if (param === undefined) return void (await done);
    const error = await rejectionOf(done);
    expect(error).toMatchObject({ code: "context_length_exceeded", status: 400, param });
    expect(error.message).toStartWith("This model's maximum context length is 20 tokens. However, input");
    expect(ledger.settlement).toMatchObject({ outcome: "released", meters: {} });
  });

  test("are left to the provider beyond what one request may have counted", async () => {
    const input = Array(4).fill("é".repeat(80_000));
    const { done, ledger } = ask({ input }, { vectors: Array(4).fill([1]) }, { inputTokensMax: 90_000 });
    await done;
    expect(ledger.settlement.outcome).toBe("settled");
  });
});

describe("inputs of tokens", () => {
  const [one, two] = [encode("Hello world"), encode("日本 is far")];
  const openai = { upstreamId: "text-embedding-3-small" };

  function askTokens(input: EmbeddingsBody["input"], takes: boolean, changes: Partial<Model> = {}) {
    const asked: unknown[] = [];
    const embeddings = async ({ request }: Call<EmbeddingsRequest>) => {
      asked.push(request.input);
      return {
        vectors: [[1], [2]].slice(0, typeof request.input[0] === "object" || request.input.length === 2 ? 2 : 1),
      };
    };
    const parts = { models: [{ ...row, ...changes }], ...(takes && { takes: ["tokenInput" as const] }) };
    const bench = createBench([createPlugin({ embeddings }, parts)]);
    return { ...bench, asked, done: runCall(bench.kernel, callOf("embeddings", { model: "embed-1", input })) };
  }

  test("go as they are to a provider that takes them, and are held and counted exactly", async () => {
    const { done, asked, ledger } = askTokens([one, two], true, openai);
    const tokens = one.length + two.length;
    expect((await done).usage.prompt_tokens).toBe(tokens);
    expect(asked).toEqual([[one, two]]);
    expect([ledger.claims[0]?.limitTokens, ledger.settlement.meters]).toEqual([tokens, { inputToken: tokens }]);
  });

  test.each([
    ["several", [one, two], ["Hello world", "日本 is far"]],
    ["one", [one], ["Hello world"]],
    ["one without a list around it", one, ["Hello world"]],
  ])("are decoded for another: %s", async (_, input, texts) => {
    const { done, asked } = askTokens(input, false);
    await done;
    expect(asked).toEqual([texts]);
  });

  test.each<[string, number[][], boolean, string]>([
    ["that are too many, by one", [Array(21).fill(1)], true, "input"],
    ["that are too many for a foreign vocabulary", [[1], Array(26).fill(1)], false, "input[1]"],
    ["that do not exist", [[1], [100_300]], false, "input"],
    ["that are far longer as text", [Array(20).fill(encode(" ".repeat(80))[0])], false, "input"],
  ])("%s are refused before anything is held", async (_, input, takes, param) => {
    const { done, ledger, asked } = askTokens(input, takes, takes ? openai : {});
    expect(await rejectionOf(done)).toMatchObject({ status: 400, param });
    expect([ledger.claims, asked]).toEqual([[], []]);
  });
});
