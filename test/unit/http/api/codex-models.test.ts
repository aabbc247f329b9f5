import { describe, expect, test } from "bun:test";
import { type CodexModel, toCodexModels } from "../../../../src/http/api/codex-models.ts";
import type { Model } from "../../../../src/provider/index.ts";
import { caller, chatModel, createPlugin } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

const priority = { inputToken: { usd: "2", per: 1_000_000 } };
const rows: Model[] = [
  {
    ...chatModel,
    id: "thinker",
    aliases: ["think"],
    reasoning: true,
    features: ["vision", "tools"],
    price: { ...chatModel.price, serviceTiers: { priority } },
  },
  { ...chatModel, id: "gpt-5.5" },
  { ...chatModel, id: "plain", reasoning: false, features: ["tools"] },
  { ...chatModel, id: "talker", features: [] },
  { ...chatModel, id: "vectors", capability: "embeddings" },
];
const notAsked = () => Promise.reject(new Error("not asked"));
const plugin = createPlugin({ chat: notAsked, embeddings: notAsked }, { models: rows });
const { ask } = httpOf([plugin]);
const version = "client_version=0.171.0";

interface List {
  object: string;
  data: { id: string }[];
  models?: CodexModel[];
}
const listOf = async (response: Response | Promise<Response>): Promise<List> => await (await response).json();

/** What Codex 0.150 to 0.171 do not read a list without, and of what type each is. */
const required: Record<string, (value: unknown) => boolean> = {
  slug: (value) => typeof value === "string" && value !== "",
  display_name: (value) => typeof value === "string",
  supported_reasoning_levels: (value) =>
    Array.isArray(value) &&
    value.every(({ effort, description }) => /^(?:low|medium|high)$/.test(effort) && typeof description === "string"),
  shell_type: (value) => value === "unified_exec",
  visibility: (value) => value === "list" || value === "hide",
  supported_in_api: (value) => typeof value === "boolean",
  priority: (value) => Number.isInteger(value),
  base_instructions: (value) => typeof value === "string" && value !== "",
  support_verbosity: (value) => typeof value === "boolean",
  truncation_policy: (value) => {
    const { mode, limit } = value as { mode: unknown; limit: unknown };
    return mode === "tokens" && Number.isInteger(limit);
  },
  experimental_supported_tools: (value) => Array.isArray(value) && value.length === 0,
};

describe("Codex' catalogue of models", () => {
  test.each(["/v1/models", "models"])(
    "is beside the list of OpenAI's clients at %s, for who names its version",
    async (path) => {
      const { models, ...list } = await listOf(ask(`${path}?${version}`));
      expect(list).toEqual(await listOf(ask(path)));
      expect(models?.map(({ slug }) => slug)).toEqual(["thinker", "plain", "think"]);
      expect(await listOf(ask(path))).not.toHaveProperty("models");
    },
  );

  test("has every field that Codex requires in every entry", async () => {
    const { models = [] } = await listOf(ask(`models?${version}`));
    expect(models.length).toBe(3);
    for (const model of models as unknown as Record<string, unknown>[]) {
      for (const [field, isRead] of Object.entries(required)) {
        expect([model.slug, field, isRead(model[field])]).toEqual([model.slug, field, true]);
      }
      // Codex reads no list with the first of these, and takes another way of asking from the second.
      expect(model.apply_patch_tool_type).toBe("freeform");
      expect(model).not.toHaveProperty("use_responses_lite");
    }
  });

  test("says of each model what its row says", async () => {
    const { models = [] } = await listOf(ask(`models?${version}`));
    const [thinker, plain, alias] = models;
    expect(thinker).toMatchObject({
      visibility: "list",
      priority: 1,
      context_window: 8000,
      input_modalities: ["text", "image"],
      service_tiers: [{ id: "priority" }],
    });
    expect(thinker?.supported_reasoning_levels.map(({ effort }) => effort)).toEqual(["low", "medium", "high"]);
    expect(thinker).not.toHaveProperty("default_reasoning_summary");
    expect(plain).toMatchObject({
      supported_reasoning_levels: [],
      default_reasoning_summary: "none",
      input_modalities: ["text"],
      service_tiers: [],
    });
    expect(alias).toMatchObject({ slug: "think", visibility: "hide", priority: 3, context_window: 8000 });
  });

  test("has the models that come with Codex only where it has no other list", async () => {
    const slugsAt = async (query: string) => (await listOf(ask(`models?${query}`))).models?.map(({ slug }) => slug);
    expect(await slugsAt(version)).toEqual(["thinker", "plain", "think"]);
    expect(await slugsAt(`catalogue=whole&${version}`)).toEqual(["thinker", "gpt-5.5", "plain", "think"]);
  });

  test("has no header by which Codex would ask for it after each turn", async () => {
    expect((await ask(`models?${version}`)).headers.has("x-models-etag")).toBe(false);
  });

  test("has the models of the key alone", async () => {
    const accounts = {
      ...httpOf().deps.accounts,
      authenticate: () => ({ ...caller, allowedModels: new Set(["plain"]) }),
    };
    const { data, models } = await listOf(httpOf([plugin], { accounts }).ask(`models?${version}`));
    expect(data.map(({ id }) => id)).toEqual(["plain"]);
    expect(models?.map(({ slug }) => slug)).toEqual(["plain"]);
  });

  test("leaves out a model that Codex cannot read, for which it would take none", () => {
    const facts = { ...chatModel, id: "x" };
    const isShown = true;
    const named = [
      { name: "half \ud83d", facts, isShown },
      { name: "endless", facts: { ...facts, contextTokens: 1e300 }, isShown },
      { name: "good", facts, isShown },
    ];
    expect(toCodexModels(named, false).map(({ slug, priority }) => [slug, priority])).toEqual([["good", 1]]);
  });

  test("is no larger than a megabyte, and loses the names that the picker does not show first", () => {
    const named = Array.from({ length: 3000 }, (_, index) => ({
      name: `model-${index}`,
      facts: chatModel,
      isShown: index >= 2990,
    }));
    const models = toCodexModels(named, false);
    expect(JSON.stringify(models).length).toBeWithin(900_000, 1_000_001);
    expect(models.slice(0, 10).every(({ visibility }) => visibility === "list")).toBe(true);
    expect(models[10]?.slug).toBe("model-0");
  });
});
