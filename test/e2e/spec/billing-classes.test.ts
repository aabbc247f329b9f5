import { beforeAll, describe, expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { fillWallet } from "../../support/gateway.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { endpoints } from "./asking.ts";
import { chatModels, embeddingModels, imageModels, speechModels, transcriptionModels } from "./tables.ts";

interface WireModel {
  id: string;
  premium: boolean;
  context_tokens?: number;
}

/** Each account has one way to pay: the free quota, the wallet, or none. */
const quotaOnly = { authorization: "" };
const walletOnly = { authorization: "" };
const nothing = { authorization: "" };
const shared = useSandboxGateway();

beforeAll(async () => {
  const { cli } = shared.gateway;
  for (const [name, headers] of Object.entries({ quotaOnly, walletOnly, nothing })) {
    const email = `${name.toLowerCase()}@example.org`;
    await cli("account", "create", "--email", email);
    const { key } = await cli<{ key: string }>("key", "create", "--account", email, "--name", "test");
    headers.authorization = `Bearer ${key}`;
    if (name !== "quotaOnly") await cli("quota", "set", "--account", email, "--tokens", "0");
    if (name === "walletOnly") await cli("wallet", "credit", "--account", email, "--usd", "100.00", "--note", "test");
  }
  await fillWallet(shared.gateway);
});

const rows = endpoints.flatMap(({ path, models, ask }) => models.map((model) => ({ ...model, path, ask })));
const costOf = async (response: Response) => {
  expect(response.status).toBe(200);
  await response.arrayBuffer();
  return shared.ledger.callOf(response);
};

describe("a model that is premium", () => {
  const premium = rows.filter((row) => row.premium);

  test.each(premium)("$id needs a positive wallet, which pays for it", async ({ id, ask }) => {
    const before = shared.ledger.counts();
    await expectError(await ask(shared.gateway, id, quotaOnly), { status: 403, code: "insufficient_balance" });
    expect(shared.ledger.counts()).toEqual(before);
    const call = await costOf(await ask(shared.gateway, id, walletOnly));
    expect(call).toMatchObject({ model: id, premium: 1 });
    expect(call.quota_tokens ?? 0).toBe(0);
    expect(call.charged_nanodollars).toBeGreaterThan(0);
    expect(call.charged_nanodollars).toBe(call.cost_nanodollars);
  });
});

describe("a model that is not premium", () => {
  const free = rows.filter((row) => !row.premium);

  test.each(free)("$id takes the free quota of the day, and no wallet", async ({ id, ask }) => {
    const before = shared.ledger.counts();
    await expectError(await ask(shared.gateway, id, nothing), { status: 403, code: "quota_exceeded" });
    await expectError(await ask(shared.gateway, id, walletOnly), { status: 403, code: "quota_exceeded" });
    expect(shared.ledger.counts()).toEqual(before);
    const call = await costOf(await ask(shared.gateway, id, quotaOnly));
    expect(call).toMatchObject({ model: id, premium: 0 });
    expect(call.quota_tokens).toBeGreaterThan(0);
    expect(call.charged_nanodollars ?? 0).toBe(0);
  });
});

describe("GET /models", () => {
  test.each(chatModels)(
    "says of $id whether it is premium, and its context",
    async ({ id, premium, contextTokens }) => {
      const model = (await (await shared.gateway.ask(`/models/${id}`)).json()) as WireModel;
      expect(model).toMatchObject({ id, premium, context_tokens: contextTokens });
    },
  );

  test.each(chatModels)("and $id refuses an answer beyond that context", async ({ id, contextTokens }) => {
    const body = { model: id, messages: [{ role: "user", content: "Hello" }], max_tokens: contextTokens + 1 };
    await expectError(await shared.gateway.post("/chat/completions", body), { status: 400, param: "max_tokens" });
  });
});

describe("the price", () => {
  test.each(embeddingModels)("of $id is $tokenNanodollars nanodollars a token", async ({ id, tokenNanodollars }) => {
    const call = await costOf(await shared.gateway.post("/embeddings", { model: id, input: "Hello Ada Lovelace" }));
    expect(call.input_tokens).toBeGreaterThan(0);
    expect(call.cost_nanodollars).toBe(Number(call.input_tokens) * tokenNanodollars);
  });

  test.each(imageModels)("of $id is $imageNanodollars nanodollars an image", async ({ id, imageNanodollars }) => {
    const body = { model: id, prompt: "A kite", n: 2, size: "1536x864" };
    const call = await costOf(await shared.gateway.post("/images/generations", body));
    expect(call.cost_nanodollars).toBe(2 * imageNanodollars);
  });

  test.each(transcriptionModels)("of $id is $hourNanodollars nanodollars an hour", async ({ id, hourNanodollars }) => {
    const call = await costOf(
      await (rows.find((row) => row.id === id) as (typeof rows)[number]).ask(shared.gateway, id),
    );
    expect(call.audio_ms).toBe(1000);
    expect(call.cost_nanodollars).toBe(Math.ceil(hourNanodollars / 3600));
  });

  test.each(speechModels)("of $id is $characterNanodollars nanodollars a character", async (row) => {
    const call = await costOf(await shared.gateway.post("/audio/speech", { model: row.id, input: "Hello 🎈" }));
    expect([call.characters, call.cost_nanodollars]).toEqual([7, 7 * row.characterNanodollars]);
  });
});
