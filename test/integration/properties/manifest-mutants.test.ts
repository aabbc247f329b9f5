import { expect, test } from "bun:test";
import type { ProviderPlugin } from "../../../src/provider/index.ts";
import { readManifest } from "../../../src/providers/manifest.ts";
import { PluginError } from "../../../src/sdk/errors.ts";
import { expectPrototypesClean, thrownBy } from "../../support/hostile.ts";
import { exemplarOf } from "./exemplars.ts";
import { mutantsOf } from "./mutants.ts";
import { expectSound, outcomeOf } from "./outcome.ts";

const request = {
  omit: ["seed"],
  rename: { max_tokens: "max_completion_tokens" },
  values: { size: { "1024x1024": "square" } },
  extra: { safe: true },
};
const chat = {
  ...request,
  messageOmit: ["name"],
  messageFields: ["prefix"],
  cacheControl: true,
  cacheKey: true,
  systemRole: "developer",
  functions: "convert",
  reasoningEfforts: ["low", "high"],
  toolEfforts: ["none"],
  reasoningOmit: ["temperature"],
  stopsMax: 4,
  streamOptions: false,
  drop: ["x_groq"],
  reasoningFields: ["reasoning"],
  think: true,
  finishReasons: { done: "stop" },
  streamsSchemas: false,
  usageIn: "x_groq",
};
const rate = { usd: "1", per: 1_000_000 };
const price = {
  inputToken: rate,
  outputToken: rate,
  markupPercent: 10,
  tiers: [{ aboveInputTokens: 1, inputToken: rate, outputToken: rate }],
};
const row = {
  id: "acme-1",
  aliases: ["acme-latest"],
  upstreamId: "up-1",
  capability: "chat",
  premium: true,
  contextTokens: 1000,
  outputTokensMax: 100,
  omit: ["seed"],
  rename: { stop: "stop_sequences" },
  options: { think: true },
  ownedBy: "acme",
  created: 1,
  price,
  quotaWeights: { call: 1 },
  priority: 1,
  weight: 2,
  retiredOn: "2999-01-01",
  successor: "acme-1",
  source: "https://example.com",
  checkedOn: "2026-01-01",
};
const manifest = {
  $schema: "./plugin.schema.json",
  name: "acme",
  contractVersion: 1,
  baseUrl: "https://api.example.com/v1",
  dialect: "openai",
  credential: "key",
  authorize: { "x-api-key": "{key}" },
  hosts: ["cdn.example.com"],
  options: {
    chat,
    embeddings: request,
    images: request,
    transcription: { ...request, verbose: true },
    speech: request,
  },
  maxChoices: { chat: 2 },
  models: [row],
};

test("a manifest in which one thing is not what it should be is refused in a sentence, or sells what works", async () => {
  expect(readManifest(manifest, "acme").models).toHaveLength(1);
  const whole = JSON.stringify(exemplarOf("openai", "chat")?.whole);
  const answer = () => new Response(whole, { headers: { "content-type": "application/json" } });
  const texts = new Set([...mutantsOf(manifest)].map((mutant) => JSON.stringify(mutant) ?? "null"));
  let taken = 0;
  for (const text of texts) {
    let plugin: ProviderPlugin | undefined;
    const error = await thrownBy(() => {
      plugin = readManifest(JSON.parse(text), "acme");
    });
    expectPrototypesClean();
    if (plugin === undefined) {
      expect({ text, error, isSentence: error instanceof PluginError }).toMatchObject({ isSentence: true });
      continue;
    }
    expectSound(await outcomeOf(plugin, "chat", answer));
    taken += 1;
  }
  expect(texts.size).toBeGreaterThan(1500);
  expect(taken).toBeGreaterThan(100);
});
