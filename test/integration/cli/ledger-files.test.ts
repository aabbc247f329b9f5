import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getDatabaseFile } from "../../../src/config/index.ts";
import { openStore } from "../../../src/db/index.ts";
import { creditWallet, ProcessLedger } from "../../../src/ledger/index.ts";
import { addPayers } from "../../support/payers.ts";
import { rollUp } from "../../support/usage.ts";
import { createAdmission, createSettlement } from "../ledger/admissions.ts";
import { type Bench, makeBench, makePlugin, makeRow } from "./fixture.ts";

const dayMs = 86_400_000;
const keyId = "key_1";
const firstDay = Date.parse("2026-11-01T10:00:00Z");
let bench: Bench;
let accountId: string;

/** Two days of one account: a premium call each day, one of them by another plugin, a free one, and a failure. */
beforeAll(async () => {
  const models = [makeRow({ id: "acme-1", aliases: ["one"], upstreamId: "acme-one-2026" })];
  bench = makeBench({ plugins: [makePlugin("acme", models)] });
  ({ id: accountId } = await bench.json<{ id: string }>("account", "create", "--email", "ada@example.org"));
  const store = await openStore({ file: getDatabaseFile(bench) });
  await addPayers(store, { [accountId]: [keyId] });
  await creditWallet(store, { accountId, nanodollars: 1e9, note: "start" });
  let now = firstDay;
  const ledger = new ProcessLedger({ store, now: () => now });
  const [session, agent, parentAgent] = ["session-1", "agent-1", "agent-0"];
  const call = async (callId: string, premium: boolean, settlement: Parameters<typeof createSettlement>[1]) => {
    await ledger.admit(
      createAdmission({
        callId,
        accountId,
        keyId,
        premium,
        model: "acme-1",
        openedAt: now,
        session,
        agent,
        parentAgent,
      }),
    );
    await ledger.settle(createSettlement(callId, { plugin: "acme", ...settlement }));
  };
  const miss = { kind: "tools", place: "tools[3]", tokens: 6 } as const;
  const cache = { miss, lostNanodollars: 900, savedNanodollars: 30 };
  await call("c1", true, { meters: { inputToken: 7, outputToken: 5 }, costNanodollars: 1200, cache });
  await call("c2", false, { meters: { inputToken: 3 }, costNanodollars: undefined });
  now += dayMs;
  await call("c3", true, { meters: { inputToken: 10 }, plugin: "other", costNanodollars: 40 });
  await call("c4", true, {
    outcome: "released",
    meters: {},
    costNanodollars: 0,
    usageSource: "none",
    errorCode: 'a "b", c',
    plugin: undefined,
  });
  await ledger.close();
  await store.close();
});
afterAll(() => bench.remove());

const span = ["--from", "2026-11-01", "--to", "2026-11-30"];

describe("ledger export", () => {
  test("writes a line a call, with all that is known of it", async () => {
    const { code, stdout } = await bench.run("ledger", "export", ...span);
    expect(code).toBe(0);
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ id }) => id)).toEqual(["c1", "c2", "c3", "c4"]);
    expect(lines[0]).toEqual({
      id: "c1",
      account: accountId,
      key: "key_1",
      model: "acme-1",
      capability: "chat",
      premium: true,
      plugin: "acme",
      state: "settled",
      usage: { input_tokens: 7, output_tokens: 5 },
      usage_source: "reported",
      cost_nanodollars: 1200,
      provider_cost_nanodollars: 1200,
      provider_price_version: null,
      markup_basis_points: null,
      charged_nanodollars: 1200,
      quota_tokens: 0,
      price_version: "v1",
      session: "session-1",
      agent: "agent-1",
      parent_agent: "agent-0",
      status: 200,
      error_code: null,
      opened_at: "2026-11-01T10:00:00.000Z",
      ended_at: "2026-11-01T10:00:00.000Z",
      first_byte_ms: null,
      duration_ms: 5,
      cache_saved_nanodollars: 30,
      cache_miss: "tools",
      cache_miss_place: "tools[3]",
      cache_missed_tokens: 6,
      cache_lost_nanodollars: 900,
    });
    expect(lines[1]).toMatchObject({ cost_nanodollars: null, usage: { input_tokens: 3 } });
    expect(lines[3]).toMatchObject({ state: "released", usage: {}, plugin: null });
  });

  test("writes CSV with empty cells for the unknown, and quotes where they are needed", async () => {
    const { stdout } = await bench.run("ledger", "export", ...span, "--format", "csv");
    const [header, first, second, , fourth] = stdout.split("\n");
    expect(header).toStartWith("id,account,key,model,capability,premium,plugin,state,usage_source,cost_nanodollars,");
    expect(header).toEndWith(
      "input_tokens,audio_input_tokens,image_input_tokens,cache_read_tokens,audio_cache_read_tokens,cache_write_tokens,cache_write_1h_tokens,cache_write_12h_tokens,output_tokens,audio_output_tokens,image_output_tokens,images,input_images,audio_ms,characters,search_units,web_searches,pages,seconds",
    );
    expect(first).toStartWith(
      `c1,${accountId},key_1,acme-1,chat,true,acme,settled,reported,1200,1200,,,1200,0,v1,session-1,agent-1,agent-0,200,,2026`,
    );
    expect(first).toContain(",5,30,tools,tools[3],6,900,7,");
    expect(first).toEndWith(",7,,,,,,,,5,,,,,,,,,,");
    expect(second).toContain("settled,reported,,,,,0,10,");
    expect(fourth).toContain(',"a ""b"", c",');
  });

  test("takes whole days, of one account when asked, and with --json one array", async () => {
    const oneDay = await bench.json<{ id: string }[]>("ledger", "export", "--from", "2026-11-02", "--to", "2026-11-02");
    expect(oneDay.map(({ id }) => id)).toEqual(["c3", "c4"]);
    expect(await bench.json("ledger", "export", "--from", "2026-10-01", "--to", "2026-10-31")).toEqual([]);
    await bench.json("account", "create", "--email", "eve@example.org");
    expect((await bench.run("ledger", "export", ...span, "--account", "eve@example.org")).stdout).toBe("");
    expect((await bench.json<unknown[]>("ledger", "export", ...span, "--account", accountId)).length).toBe(4);
  });

  test("pages through a long time and waits for a slow reader", async () => {
    const long = makeBench();
    const { id } = await long.json<{ id: string }>("account", "create", "--email", "ada@example.org");
    const store = await openStore({ file: getDatabaseFile(long) });
    await addPayers(store, { [id]: [keyId] });
    const ledger = new ProcessLedger({ store });
    const ids = Array.from({ length: 1201 }, (_, index) => `call_${String(index).padStart(5, "0")}`);
    const openedAt = (index: number) => firstDay + Math.floor(index / 700);
    await Promise.all(
      ids.map((callId, index) =>
        ledger.admit(
          createAdmission({ callId, accountId: id, keyId, premium: false, holdTokens: 0, openedAt: openedAt(index) }),
        ),
      ),
    );
    await Promise.all(ids.map((callId) => ledger.settle(createSettlement(callId))));
    await store.close();
    const { stdout } = await long.run("ledger", "export", ...span);
    expect(
      stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).id),
    ).toEqual(ids);
    long.remove();
  });

  test.each([
    [
      ["--from", "2026-11-31", "--to", "2026-12-01"],
      "Cannot read --from 2026-11-31, expected a day such as 2026-11-21",
      2,
    ],
    [
      ["--from", "2026-11-02", "--to", "2026-11-01"],
      "Cannot export from 2026-11-02 to 2026-11-01: the last day is before the first",
      2,
    ],
    [[...span, "--format", "xml"], "Cannot write --format xml, expected csv or jsonl", 2],
    [
      [...span, "--account", "nobody"],
      'No account has the id or e-mail "nobody", and no team has this name; see modelgate account list',
      3,
    ],
  ])("refuses %j with one sentence", async (flags, sentence, code) => {
    expect(await bench.run("ledger", "export", ...flags)).toEqual({ code, stdout: "", stderr: `${sentence}\n` });
  });
});

describe("ledger reconcile", () => {
  const fileOf = (text: string) => {
    const file = join(bench.home, "usage.csv");
    writeFileSync(file, text);
    return file;
  };
  const reconcile = (text: string, ...flags: string[]) => bench.run("ledger", "reconcile", fileOf(text), ...flags);

  test("finds no difference in what is the same, whatever name the provider gives the model", async () => {
    const text =
      '\ufeffday,model,requests,input_tokens,output_tokens,cost_usd\r\n2026-11-01,"acme-one-2026",1,7,5,0.0000012\r\n2026-11-01,one,1,3,0,0\r\n\r\n2026-11-02,acme-1,1,10,0,0.00000004\r\n';
    expect(await reconcile(text)).toMatchObject({
      code: 0,
      stdout: "No differences: 2 rows compared by requests, input_tokens, output_tokens, cost_usd\n",
    });
  });

  test("tells each difference with both figures and exits 1, also of what only one side has", async () => {
    const { code, stdout } = await reconcile(
      "model,day,input_tokens,cost_usd\nacme-1,2026-11-01,9,0.5\nnovel,2026-11-02,1,0\n",
    );
    expect(code).toBe(1);
    expect(stdout.split("\n").map((line) => line.replace(/ {2,}/g, " | "))).toEqual([
      "2026-11-01 | acme-1 | input_tokens | ledger 10 | provider 9",
      "2026-11-01 | acme-1 | cost_usd | ledger 0.0000012 USD | provider 0.5 USD",
      "2026-11-02 | acme-1 | input_tokens | ledger 10 | provider 0",
      "2026-11-02 | acme-1 | cost_usd | ledger 0.00000004 USD | provider 0 USD",
      "2026-11-02 | novel | input_tokens | ledger 0 | provider 1",
      "",
    ]);
  });

  test("compares one provider's calls alone, and lets small differences pass when asked", async () => {
    const text = "day,model,input_tokens\n2026-11-01,one,10\n2026-11-02,one,0\n";
    expect((await reconcile(text)).code).toBe(1);
    expect((await reconcile(text, "--provider", "acme")).code).toBe(0);
    // The sandbox is one in `usage --by provider`; here it answered nothing.
    const ofSandbox = await reconcile("day,model,input_tokens\n2026-11-01,one,0\n", "--provider", "sandbox");
    expect([ofSandbox.code, ofSandbox.stderr]).toEqual([0, ""]);
    const near = "day,model,input_tokens\n2026-11-01,one,11\n2026-11-02,one,10\n";
    expect((await reconcile(near, "--tolerance", "10")).code).toBe(0);
    expect((await reconcile(near, "--tolerance", "9")).code).toBe(1);
  });

  test.each([
    ["", "line 1: the file is empty, expected columns of day, model, requests,"],
    ["day,model\n", "line 1: there is no column to compare in addition to day and model"],
    ["day,model,tokens\n", 'line 1: column "tokens" is unknown, expected some of day, model, requests,'],
    ["model,images\n", "line 1: column day is missing"],
    ["day,model,images,images\n", "line 1: column images occurs twice"],
    ["day,model,images\n2026-11-01,one\n", "line 2: 2 cells, expected 3"],
    ["day,model,images\n2026-11-31,one,1\n", 'line 2: day is "2026-11-31", expected a day such as 2026-11-21'],
    ["day,model,images\n2026-11-01,one,-1\n", 'line 2: images is "-1", expected a number from 0'],
    ["day,model,images\n2026-11-01,one,many\n", 'line 2: images is "many", expected a number from 0'],
    ["day,model,images\n2026-11-01,one,9007199254740992\n", 'line 2: images is "9007199254740992", expected'],
    ["day,model,cost_usd\n2026-11-01,one,0.0000000001\n", 'line 2: cost_usd is "0.0000000001", expected'],
    ["day,model,cost_usd\n2026-11-01,one,-0.5\n", 'line 2: cost_usd is "-0.5", expected'],
    ['day,model,images\n2026-11-01,"on"e,1\n', "line 2 is not CSV: unexpected quote"],
  ])("refuses %j with one sentence", async (text, reason) => {
    const { code, stdout, stderr } = await reconcile(text);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^Cannot read .*usage\.csv[,:] .*\n$/);
    expect(stderr).toContain(reason);
  });

  test.each([
    [["nowhere.csv"], "Cannot read nowhere.csv: ENOENT: no such file or directory"],
    [["FILE", "--provider", "acne"], 'provider: No provider is called "acne", did you mean acme?'],
    [["FILE", "--tolerance", "-1"], "Cannot read --tolerance -1, expected a percentage from 0"],
  ])("refuses %j with one sentence", async (args, sentence) => {
    const file = fileOf("day,model,images\n2026-11-01,one,1\n");
    const { code, stderr } = await bench.run("ledger", "reconcile", ...args.map((arg) => arg.replace("FILE", file)));
    expect([code, stderr.split("\n").length]).toEqual([2, 2]);
    expect(stderr).toStartWith(sentence);
  });

  test("takes a provider's names for its own models where others sell them too, with the operator's rows and those without a row", async () => {
    const gpt = makeRow({ id: "azure/gpt-9", upstreamId: "gpt-9", aliases: ["gpt-9"] });
    const own = [makeRow({ id: "gpt-9", upstreamId: "gpt-9" }), makeRow({ id: "famA-8", upstreamId: "gpt-8" })];
    const openai = { ...makePlugin("openai", own), handlers: { chat: () => Promise.reject(new Error("not asked")) } };
    const two = makeBench({ plugins: [makePlugin("azure", [gpt]), openai as never] });
    const account = await two.json<{ id: string }>("account", "create", "--email", "ada@example.org");
    mkdirSync(join(two.home, "catalogue"));
    const price = { inputToken: { usd: "1", per: 1_000_000 }, outputToken: { usd: "2", per: 1_000_000 } };
    const margin = { id: "gpt-9-with-margin", upstreamId: "gpt-9", premium: true, price };
    const rows = { models: [{ ...makeRow(), ...margin }], unlisted: { premium: true, prefix: "more/", price } };
    writeFileSync(join(two.home, "catalogue/openai.json"), JSON.stringify(rows));
    const store = await openStore({ file: getDatabaseFile(two) });
    await addPayers(store, { [account.id]: [createAdmission({ accountId: account.id }).caller.keyId] });
    const ledger = new ProcessLedger({ store, now: () => firstDay });
    const calls = [
      ["gpt-9", "openai"],
      ["gpt-9-with-margin", "openai"],
      ["famA-8", "openai"],
      ["more/gpt-7", "openai"],
      ["azure/gpt-9", "azure"],
    ] as const;
    for (const [index, [model, plugin]] of calls.entries()) {
      const callId = `c${index}`;
      const call = { callId, accountId: account.id, premium: false, model, openedAt: firstDay };
      await ledger.admit(createAdmission(call));
      await ledger.settle(createSettlement(callId, { plugin, meters: { inputToken: 7 }, costNanodollars: undefined }));
    }
    await ledger.close();
    await store.close();
    const file = join(two.home, "usage.csv");
    const compare = async (names: readonly string[], provider: string, inputs: number[]) => {
      const lines = names.map((name, index) => `2026-11-01,${name},${inputs[index]}`);
      writeFileSync(file, ["day,model,input_tokens", ...lines, ""].join("\n"));
      return (await two.run("ledger", "reconcile", file, "--provider", provider)).stdout;
    };
    expect(await compare(["gpt-9", "gpt-8", "gpt-7"], "openai", [14, 7, 7])).toStartWith("No differences: 3 rows");
    expect(await compare(["gpt-9"], "azure", [7])).toStartWith("No differences: 1 rows");
    expect(await compare(["gpt-9", "gpt-8", "gpt-7"], "openai", [15, 7, 7])).toMatch(
      /^2026-11-01 +gpt-9 +input_tokens +ledger 14 +provider 15\n$/,
    );
    two.remove();
  });

  test("compares one provider's calls also when they are summed up, and single calls are gone", async () => {
    const store = await openStore({ file: getDatabaseFile(bench) });
    await rollUp(store);
    const { numDeletedRows } = await store.db.deleteFrom("call_rows").executeTakeFirstOrThrow();
    expect(numDeletedRows).toBeGreaterThan(0n);
    await store.close();
    const text = "day,model,input_tokens\n2026-11-01,one,10\n2026-11-02,one,0\n";
    expect((await reconcile(text)).code).toBe(1);
    expect((await reconcile(text, "--provider", "acme")).code).toBe(0);
  });
});
