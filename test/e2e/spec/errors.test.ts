import { beforeAll, describe, expect, test } from "bun:test";
import { changeCharacter } from "../../support/change-character.ts";
import { expectError, type PromisedError } from "../../support/expect-error.ts";
import { ownerEmail } from "../../support/gateway.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { endpoints } from "./asking.ts";

const shared = useSandboxGateway();
const keys = { owner: "", poor: "", spent: "", slow: "", wrong: "" };
beforeAll(async () => {
  const { gateway } = shared;
  const create = async (account: string, ...flags: string[]) =>
    (await gateway.cli<{ key: string }>("key", "create", "--account", account, "--name", "test", ...flags)).key;
  for (const name of ["poor", "spent"] as const) {
    await gateway.cli("account", "create", "--email", `${name}@example.org`);
    keys[name] = await create(`${name}@example.org`);
  }
  await gateway.cli("quota", "set", "--account", "spent@example.org", "--tokens", "1");
  keys.owner = gateway.key;
  keys.wrong = changeCharacter(gateway.key, -1);
  keys.slow = await create(ownerEmail, "--requests-per-minute", "1");
});

type Key = keyof typeof keys;
const messages = [{ role: "user", content: "Hello" }];
const headersOf = (key: Key) => ({ authorization: `Bearer ${keys[key]}` });
const chat = (key: Key, fields: object) =>
  shared.gateway.post("/chat/completions", { model: "famA-4o-mini", messages, ...fields }, headersOf(key));

const statuses: [string, Key, object, PromisedError][] = [
  ["400 without messages", "owner", { messages: undefined }, { status: 400, param: "messages" }],
  ["400 without a model", "owner", { model: undefined }, { status: 400, param: "model" }],
  ["400 for a model that is not in the catalogue", "owner", { model: "famZ" }, { status: 400, param: "model" }],
  ["400 for an invalid parameter", "owner", { temperature: 3 }, { status: 400, param: "temperature" }],
  ["401 for a wrong key", "wrong", {}, { status: 401, code: "invalid_api_key" }],
  ["403 once the daily tokens are used up", "spent", {}, { status: 403, code: "quota_exceeded" }],
  ["403 for a wallet that cannot pay", "poor", { model: "famA-5" }, { status: 403, code: "insufficient_balance" }],
];

/** Each with a model of its own, so that none of them counts as unhealthy for another one. */
const failures: [string, string, string][] = [
  ["fails", "status=500", "famA-4o"],
  ["is overloaded", "status=503", "famA-4.1-mini"],
  ["refuses the gateway", "status=401", "famA-4.1-nano"],
  ["answers nonsense", "garbage", "famB-2.0-flash"],
];

describe("POST /chat/completions", () => {
  for (const stream of [false, true]) {
    const form = stream ? "streamed" : "whole";
    test.each(statuses)(`${form}, is %s`, async (_, key, fields, promised) => {
      await expectError(await chat(key, { stream, ...fields }), promised);
      expect(shared.ledger.counts().open).toBe(0);
    });

    test.each(failures)(`${form}, is 500 when the model %s, and costs nothing`, async (_, fault, model) => {
      const content = `Hello [[fault:${fault}]]`;
      const response = await chat("owner", { stream, model, messages: [{ role: "user", content }] });
      expect(response.status).toBe(500);
      expect(await response.json()).toMatchObject({ error: { type: "upstream_error", code: "upstream_error" } });
      expect(shared.ledger.callOf(response)).toMatchObject({ state: "released", status: 500, quota_tokens: 0 });
    });
  }

  test("is 429 above the requests a minute of a key, and says when to come again", async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => chat("slow", {})));
    const refused = answers.find(({ status }) => status === 429);
    expect(refused).toBeDefined();
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    await expectError(refused as Response, { status: 429, code: "rate_limit_exceeded" });
  });
});

describe.each(endpoints)("POST $path", ({ path, ask, models }) => {
  test("refuses a model of another endpoint, and one that is not in the catalogue", async () => {
    const other = path === "/embeddings" ? "famA-4o-mini" : "text-embedding-3-small";
    for (const model of [other, "famZ"]) {
      await expectError(await ask(shared.gateway, model), { status: 400, param: "model" });
    }
  });

  test("refuses what its account cannot pay for", async () => {
    for (const { id, premium } of models) {
      const code = premium ? "insufficient_balance" : "quota_exceeded";
      const key = premium ? "poor" : "spent";
      await expectError(await ask(shared.gateway, id, headersOf(key)), { status: 403, code });
    }
  });
});
