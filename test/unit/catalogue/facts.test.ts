import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { builtIns } from "../../../plugins/index.ts";
import { findModelFacts, type Model, normalizeModelName, withoutModelFacts } from "../../../src/provider/index.ts";
import { readModels } from "../../../src/sdk/index.ts";

const root = join(import.meta.dir, "../../..");
const folders = readdirSync(join(root, "plugins")).map((name) => join(root, "plugins", name, "catalogue.json"));
const ofSpecification = readdirSync(join(root, "catalogue")).map((name) => join(root, "catalogue", name));
/** Rows as they are written, with the file of each. */
const written = [...folders, ...ofSpecification]
  .filter(existsSync)
  .flatMap((file) =>
    readModels(JSON.parse(readFileSync(file, "utf8"))).map(
      (row) => ({ ...row, capability: row.capability ?? "chat" }) as Model,
    ),
  );
/** Rows as they are served. */
const served = builtIns.flatMap(({ models }) => models).filter(({ capability }) => capability === "chat");

describe("facts of models", () => {
  test("are known of no name that is longer than names are, whatever it repeats", () => {
    expect(findModelFacts("claude-opus-4")).toMatchObject({ reasoning: true });
    expect(findModelFacts(`claude-opus-4${"-x".repeat(100)}`)).toMatchObject({ reasoning: true });
    for (const piece of ["-x", "qwen3-", "claude-", "-instruct-", ":", "@", "1p"]) {
      expect(findModelFacts(`claude-opus-4${piece.repeat(1_000_000)}`)).toEqual({});
    }
  });

  test("stand once: no row of the catalogue repeats or contradicts what is known of its model", () => {
    const repeating = written.filter((row) => Object.keys(withoutModelFacts(row)).length < Object.keys(row).length);
    expect(repeating.map(({ id }) => id)).toEqual([]);
  });

  test("are the same for all providers that sell a model", () => {
    const known = new Map<string, Map<string, string[]>>();
    for (const { id, upstreamId, reasoning, imageTokensMax } of served) {
      const name = normalizeModelName(upstreamId);
      for (const [fact, value] of Object.entries({ reasoning, imageTokensMax })) {
        // A provider may make images smaller than the model takes.
        if (fact === "imageTokensMax" && findModelFacts(upstreamId).imageTokensMax === undefined) continue;
        const of = known.get(`${fact} of ${name}`) ?? new Map<string, string[]>();
        of.set(String(value), [...(of.get(String(value)) ?? []), id]);
        known.set(`${fact} of ${name}`, of);
      }
    }
    const differing = [...known].filter(([, values]) => values.size > 1).map(([fact, values]) => [fact, [...values]]);
    expect(differing).toEqual([]);
  });

  test("say of nearly all models whether they reason; of the others all output is held", () => {
    const unknown = served.filter(({ reasoning }) => reasoning === undefined).map(({ id }) => id);
    expect(unknown.length < served.length / 20 ? [] : unknown).toEqual([]);
  });

  test("bound no answer above the context of a row", () => {
    const tooLong = served.filter(
      (row) => (row.outputTokensMax ?? 0) > (row.contextTokens ?? Number.POSITIVE_INFINITY),
    );
    expect(tooLong.map(({ id }) => id)).toEqual([]);
  });
});

describe("the name of a model", () => {
  test.each([
    ["us.anthropic.claude-opus-4-6-v1:0", { reasoning: true, imageTokensMax: 4784 }],
    ["anthropic/claude-3-haiku", { reasoning: false }],
    ["anthropic/claude-3.7-sonnet", { reasoning: true }],
    ["openai/o3-pro", { reasoning: true, outputTokensMax: 100_000 }],
    ["o1", { reasoning: true, imageTokensMax: 1275 }],
    ["openai/gpt-4o-mini-2024-07-18", { reasoning: false, imageTokensMax: 48_169, outputTokensMax: 16_384 }],
    ["gpt-4o", { reasoning: false, imageTokensMax: 1445 }],
    ["gpt-3.5-turbo", { reasoning: false }],
    ["gpt-5-mini", { reasoning: true, imageTokensMax: 2489 }],
    ["gpt-oss:20b", { reasoning: true }],
    ["google/gemini-2.5-pro", { reasoning: true, imageTokensMax: 8256, outputTokensMax: 65_536 }],
    ["accounts/fireworks/models/glm-5p1", { reasoning: true }],
    ["glm-4-9b-chat", { reasoning: false }],
    ["GLM-4.5V", { reasoning: true }],
    ["Qwen/Qwen3-235B-A22B-Instruct-2507:novita", { reasoning: false }],
    ["Qwen/Qwen3-32B:together", { reasoning: true }],
    ["qwen2.5-coder:7b", { reasoning: false }],
    ["qwen3-vl-235b-a22b-thinking", { reasoning: true }],
    ["deepseek-r1-distill-llama-70b", { reasoning: true }],
    ["deepseek-ai/DeepSeek-V3-0324", { reasoning: false }],
    ["deepseek-ai/DeepSeek-V3.1", { reasoning: true }],
    ["deepseek.v3-v1:0", { reasoning: true }],
    ["llama3.2:latest", { reasoning: false }],
    ["meta-llama/Llama-4-Scout-17B-16E-Instruct", { reasoning: false }],
    ["grok-4-20-0309-non-reasoning", { reasoning: false }],
    ["grok-3-mini", { reasoning: true }],
    ["grok-3", { reasoning: false }],
    ["mistral-small-2503", { reasoning: false }],
    ["mistral-small-2603", { reasoning: true }],
    ["kimi-k2-instruct-0905", { reasoning: false }],
    ["moonshotai/kimi-k2.5", { reasoning: true }],
  ])("%s leads to its family", (name, facts) => expect(findModelFacts(name)).toMatchObject(facts));

  test.each<[string, number | undefined]>([
    ["claude-opus-5", 512],
    ["anthropic.claude-opus-5-20260101-v1:0", 512],
    ["anthropic/claude-fable-5", 512],
    ["claude-mythos-5", 512],
    ["claude-sonnet-4-20250514", 1024],
    ["anthropic/claude-sonnet-4.5", 1024],
    ["eu.anthropic.claude-sonnet-4-6", 1024],
    ["claude-sonnet-5", 1024],
    ["claude-opus-4-8", 1024],
    ["claude-haiku-4-5@20251001", 4096],
    ["us.anthropic.claude-opus-4-5-20251101-v1:0", 4096],
    ["claude-opus-4-6", 4096],
    ["claude-opus-5-5", undefined],
    ["claude-fable-5-1", undefined],
    ["claude-sonnet-5-5", undefined],
    ["claude-opus-4-7", undefined],
    ["claude-haiku-5-5", undefined],
    ["gpt-5", undefined],
  ])("%s says from which length on its prompts are cached: %p", (name, tokens) =>
    expect(findModelFacts(name).cacheTokensMin).toBe(tokens),
  );

  test.each([
    ["mistral-small-latest"],
    ["acme-1"],
    ["my-deployment"],
    ["gptx-4"],
    ["command"],
    [""],
    ["/"],
    ["constructor"],
  ])("%p says nothing of it", (name) => expect(findModelFacts(name)).toEqual({}));
});
