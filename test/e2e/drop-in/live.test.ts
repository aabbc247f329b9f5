import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { PluginState } from "../../../src/providers/index.ts";
import { builtBinary } from "../../support/binary.ts";
import { type Gateway, startGateway } from "../../support/gateway.ts";
import { openCliStore } from "../../support/ledger-view.ts";
import { isLong, rounds } from "../../support/long.ts";
import { type LoopbackProvider, startProvider } from "./provider.ts";

/** The promise is 2 s, printed; a machine that has other work may be later. */
const takenUpMsMax = 60_000;
const loadSeconds = 3;
const callsPerSecond = 200;
const callsPerSwap = 50;
/** Longer than the gateway waits for files to settle, so that each refresh is taken up. */
const refreshMs = 300;
const refreshes = rounds(10, 200);
const forms: readonly ("source" | "binary")[] = isLong ? ["source", "binary"] : ["binary"];
if (!isLong) console.log("Plugins dropped into a gateway from source are for LONG=1");

describe.each(forms)("plugins dropped into a gateway from %s", (form) => {
  let gateway: Gateway;
  let provider: LoopbackProvider;
  const outside = process.env.MODELGATE_BINARY;

  beforeAll(async () => {
    process.env.MODELGATE_BINARY = form === "binary" ? builtBinary() : "";
    provider = startProvider();
    // Nothing else on the machine: no PATH to find a runtime by.
    // And no refusal because this machine is slow.
    const unlimited = { REQUESTS_PER_MINUTE: "1000000", OVERLOAD_LAG_MS: "0" };
    gateway = await startGateway({ env: { PATH: "/nowhere", KEYED_API_KEY: "k1,k2", ...unlimited } });
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await provider.stop();
    process.env.MODELGATE_BINARY = outside ?? "";
  });

  const drop = (name: string, content: string | object) => {
    const path = join(gateway.home, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  };
  const remove = (name: string) => rmSync(join(gateway.home, name), { recursive: true });
  const manifest = (model: string, changes: object = {}) => ({
    baseUrl: provider.baseUrl,
    dialect: "openai",
    credential: "none",
    models: [{ id: model, premium: false }],
    ...changes,
  });
  const code = (name: string, body: string) => `
    import { definePlugin } from "modelgate/plugin";
    import { row } from "./row.ts";
    export default definePlugin({
      name: "${name}", baseUrl: "${provider.baseUrl}", credential: "none", models: [row], handlers: { chat: async (call) => { ${body} } },
    });`;
  const rowOf = (model: string) =>
    `export const row = { id: "${model}", upstreamId: "${model}", capability: "chat", premium: false, ownedBy: "me", created: 0 };\n`;
  const ask = (model: string, more: object = {}) =>
    gateway.post("/chat/completions", { model, messages: [{ role: "user", content: "Say hello" }], ...more });
  const heard = async (model: string) => {
    const response = await ask(model);
    const answer = (await response.json()) as {
      choices?: [{ message: { content: string } }];
      error?: { code: string };
    };
    return answer.choices?.[0].message.content ?? answer.error?.code;
  };
  const statesOf = () => gateway.cli<PluginState[]>("plugin", "list");
  const warningsOf = async () =>
    ((await (await fetch(`${gateway.origin}/readyz`)).json()) as { warnings: string[] }).warnings;

  test("a manifest answers within 2 s of being dropped, and is gone when it is removed", async () => {
    const droppedAt = performance.now();
    drop("plugins/acme.json", manifest("acme-1"));
    await until(() => heard("acme-1"), "Hello from acme-1");
    process.stdout.write(`${form}: a dropped file answered after ${Math.round(performance.now() - droppedAt)} ms\n`);
    remove("plugins/acme.json");
    await until(() => heard("acme-1"), "model_not_found");
  });

  test("a folder of code answers, and a changed file beside it is really the new one", async () => {
    const body =
      "return { choices: [{ index: 0, message: { role: 'assistant', content: 'I am ' + row.id }, finish_reason: 'stop' }] };";
    drop("plugins/mine/row.ts", rowOf("mine-1"));
    drop("plugins/mine/index.ts", code("mine", body));
    await until(() => heard("mine-1"), "I am mine-1");
    drop("plugins/mine/row.ts", rowOf("mine-2"));
    await until(() => heard("mine-2"), "I am mine-2");
    expect(await heard("mine-1")).toBe("model_not_found");
  });

  test("a price and a model of the operator's own are taken up, and a charge has its version", async () => {
    const price = (usd: string) => ({ inputToken: { usd, per: 1 }, outputToken: { usd, per: 1 } });
    drop("plugins/paid.json", manifest("paid-1", { models: [{ id: "paid-1", premium: false, price: price("0.1") }] }));
    await until(() => heard("paid-1"), "Hello from paid-1");
    const ledger = openCliStore(gateway.home);
    const versionOf = async () => {
      const response = await ask("paid-1");
      await response.text();
      await ledger.untilSettled();
      return ledger.callOf(response).price_version;
    };
    const before = await versionOf();
    const row = { id: "paid-2", upstreamId: "two", capability: "chat", premium: false, ownedBy: "me", created: 0 };
    drop("catalogue/paid.json", { models: [{ id: "paid-1", upstreamId: "moved", price: price("0.2") }, row] });
    await until(() => heard("paid-1"), "Hello from moved");
    expect(await heard("paid-2")).toBe("Hello from two");
    const after = await versionOf();
    ledger.close();
    expect([before, after]).toEqual([expect.any(String), expect.any(String)]);
    expect(after).not.toBe(before);
  });

  test("a version that does not load leaves the one before serving, and says so everywhere", async () => {
    drop("plugins/keyed.json", manifest("keyed-1", { credential: "key" }));
    await until(() => heard("keyed-1"), "Hello from keyed-1");
    drop("plugins/keyed.json", '{ "baseUrl": ');
    const sentence =
      "Cannot load plugins/keyed.json: line 1, column 14: the end of the file was not expected; fix the JSON there";
    await until(async () => (await warningsOf())[0], sentence);
    expect(await heard("keyed-1")).toBe("Hello from keyed-1");
    const state = (await statesOf()).find(({ name }) => name === "keyed");
    expect(state).toMatchObject({ status: "previous", models: 1, routes: 1, keys: 2, error: sentence });
    const { stdout } = await gateway.run("plugin", "list");
    expect(stdout).toMatch(/^keyed +previous +[0-9a-f]{8} +1 +1 +1 +2 +plugins\/keyed\.json$/m);
    expect(stdout).toContain(`\n  ${sentence}\n`);
    await until(async () => gateway.stderr().split(JSON.stringify(sentence)).length - 1, 1);
    remove("plugins/keyed.json");
    await until(async () => (await warningsOf()).length, 0);
  });

  test("a file with a name of another file's model is refused, and the name leads where it did", async () => {
    drop(
      "plugins/owner.json",
      manifest("owner-1", { models: [{ id: "owner-1", premium: false, aliases: ["known"] }] }),
    );
    await until(() => heard("known"), "Hello from owner-1");
    const sentence = (words: string) =>
      `Plugin 'acme' has 'known' as ${words} of a model, but it is an alias of 'owner-1' in plugins/owner.json: rename one of the two`;
    drop("plugins/acme.json", manifest("known"));
    await until(async () => (await warningsOf())[0], `Cannot load plugins/acme.json: ${sentence("the id")}`);
    expect(await heard("known")).toBe("Hello from owner-1");
    drop("plugins/acme.json", manifest("acme-1"));
    await until(() => heard("acme-1"), "Hello from acme-1");
    const row = { id: "acme-1", premium: false, aliases: ["known"] };
    drop("plugins/acme.json", manifest("acme-1", { models: [row] }));
    await until(async () => (await warningsOf())[0], `Cannot load plugins/acme.json: ${sentence("an alias")}`);
    expect([await heard("known"), await heard("acme-1")]).toEqual(["Hello from owner-1", "Hello from acme-1"]);
    expect((await statesOf()).find(({ name }) => name === "acme")).toMatchObject({ status: "previous" });
    drop("plugins/acme.json", manifest("acme-1"));
    drop("catalogue/acme.json", { models: [{ id: "acme-1", aliases: ["known"] }] });
    await until(async () => (await warningsOf())[0], `Cannot use catalogue/acme.json: ${sentence("an alias")}`);
    expect([await heard("known"), await heard("acme-1")]).toEqual(["Hello from owner-1", "Hello from acme-1"]);
    for (const name of ["catalogue/acme.json", "plugins/acme.json", "plugins/owner.json"]) remove(name);
    await until(async () => (await warningsOf()).length, 0);
  });

  test("a stream that has begun ends on the version it began with", async () => {
    drop("plugins/slow.json", manifest("slow-1"));
    await until(() => heard("slow-1"), "Hello from slow-1");
    const goOn = provider.hold();
    const response = await ask("slow-1", { stream: true });
    expect(response.status).toBe(200);
    remove("plugins/slow.json");
    await until(() => heard("slow-1"), "model_not_found");
    goOn();
    const text = await response.text();
    expect(text).toContain("Hello from slow-1");
    expect(text).toEndWith("data: [DONE]\n\n");
  });

  test("handlers that throw, return nonsense or flood end their own calls, and nobody else's", async () => {
    const evil: Record<string, string> = {
      thrower: "throw new Error('boom');",
      nonsense: "return { choices: 'none' };",
      emptiness: "return undefined;",
      flooder: "return (async function* () { while (true) yield { choices: [] }; })();",
    };
    drop("plugins/good.json", manifest("good-1"));
    for (const [name, body] of Object.entries(evil)) {
      drop(`plugins/${name}/row.ts`, rowOf(`${name}-1`));
      drop(`plugins/${name}/index.ts`, code(name, body));
    }
    await until(() => heard("good-1"), "Hello from good-1");
    await until(() => heard("thrower-1"), "internal_error");
    expect(await heard("nonsense-1")).toBe("upstream_error");
    expect(await heard("emptiness-1")).toBe("upstream_error");
    const leaving = new AbortController();
    const body = JSON.stringify({ model: "flooder-1", messages: [{ role: "user", content: "x" }], stream: true });
    const init = { method: "POST", headers: { "content-type": "application/json" }, body, signal: leaving.signal };
    const flood = gateway
      .ask("/chat/completions", init)
      .then((response) => response.text())
      .catch(() => "left");
    for (let call = 0; call < 20; call++) expect(await heard("good-1")).toBe("Hello from good-1");
    leaving.abort();
    await flood;
    expect(await gateway.cli("ledger", "verify")).toMatchObject({ ok: true });
  });

  test(`swaps under ${callsPerSecond} calls a second, JSON and streams, drop none and add no error`, async () => {
    drop("plugins/busy.json", manifest("busy-1"));
    await until(() => heard("busy-1"), "Hello from busy-1");
    const calls: Promise<string>[] = [];
    let swaps = 0;
    const swap = () => drop("plugins/busy.json", manifest("busy-1", { hosts: [`h${swaps++}.example.org`] }));
    const beganAt = performance.now();
    while (calls.length < callsPerSecond * loadSeconds) {
      const due = ((performance.now() - beganAt) / 1000) * callsPerSecond;
      while (calls.length < due) {
        if (calls.length % callsPerSwap === 0) swap();
        calls.push(outcomeOf(ask("busy-1", calls.length % 2 === 0 ? {} : { stream: true })));
      }
      await Bun.sleep(5);
    }
    const outcomes = Map.groupBy(await Promise.all(calls), (outcome) => outcome);
    process.stdout.write(`${form}: ${calls.length} calls over ${swaps} swaps\n`);
    expect(Object.fromEntries([...outcomes].map(([outcome, all]) => [outcome, all.length]))).toEqual({
      whole: calls.length,
    });
    expect(await gateway.cli("ledger", "verify")).toMatchObject({ ok: true });
  });
});

test(`the catalogue is refreshed ${refreshes} times under load, and no call is lost or dearer than one of its prices`, async () => {
  const provider = startProvider();
  const gateway = await startGateway({ env: { REQUESTS_PER_MINUTE: "1000000", OVERLOAD_LAG_MS: "0" } });
  const write = (name: string, value: object) => {
    const path = join(gateway.home, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(value));
  };
  const models = [{ id: "busy-1", premium: false }];
  const refresh = (round: number) => {
    const price = { inputToken: { usd: `${round + 1}`, per: 1_000_000 }, outputToken: { usd: "2", per: 1_000_000 } };
    const rows = Array.from({ length: 50 }, (_, index) => ({ id: `busy-${index + 1}`, upstreamId: "busy-1", price }));
    const fields = { capability: "chat", premium: false, ownedBy: "me", created: 0 };
    write("catalogue/busy.json", { models: rows.map((row) => ({ ...fields, ...row })) });
  };
  const ask = () =>
    gateway.post("/chat/completions", { model: "busy-1", messages: [{ role: "user", content: "Say hello" }] });
  try {
    write("plugins/busy.json", { baseUrl: provider.baseUrl, dialect: "openai", credential: "none", models });
    await until(async () => (await ask()).status, 200);
    const calls: Promise<string>[] = [];
    for (let round = 0; round < refreshes; round++) {
      refresh(round);
      for (let call = 0; call < 20; call++) calls.push(outcomeOf(ask()));
      await Bun.sleep(refreshMs);
    }
    expect([...new Set(await Promise.all(calls))]).toEqual(["whole"]);
    await until(async () => {
      const model = (await (await gateway.ask("/models/busy-50")).json()) as {
        price?: { inputToken: { usd: string } };
      };
      return model.price?.inputToken.usd;
    }, `${refreshes}`);
    expect(await gateway.cli("ledger", "verify")).toMatchObject({ ok: true });
  } finally {
    expect(await gateway.stop()).toBe(0);
    await provider.stop();
  }
});

async function outcomeOf(asked: Promise<Response>): Promise<string> {
  const response = await asked;
  const text = await response.text();
  const isWhole = text.includes("Hello from busy-1") && (text.startsWith("{") || text.endsWith("data: [DONE]\n\n"));
  return response.status === 200 && isWhole ? "whole" : `${response.status} ${text.slice(0, 200)}`;
}

async function until(ask: () => Promise<unknown>, expected: unknown): Promise<void> {
  const deadline = performance.now() + takenUpMsMax;
  let found = await ask();
  while (found !== expected && performance.now() < deadline) {
    await Bun.sleep(50);
    found = await ask();
  }
  expect(found).toBe(expected as typeof found);
}
