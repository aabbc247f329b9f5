import { expect, test } from "bun:test";
import { startOfDay, startOfPeriod } from "../../../src/db/index.ts";
import { creditWallet } from "../../../src/ledger/index.ts";
import { expectError } from "../../support/expect-error.ts";
import { addCharge } from "../../support/ledger-rows.ts";
import { recordCalls } from "../../support/payers.ts";
import { rollUp } from "../../support/usage.ts";
import { twoMembers } from "../../unit/http/dashboard-http.ts";
import { endOf, openOf } from "../db/facts.ts";

const api = "/dashboard/api";

test("reads entries with a running balance in pages and as CSV without formulas", async () => {
  const { ada, ben, store, clock } = await twoMembers();
  const accountId = ada.account.id;
  for (const [at, usd] of [3, -1].entries()) {
    await creditWallet(store, { accountId, nanodollars: usd * 1e9, note: `=cmd("${usd}")` }, () => at + 1);
  }
  const { data, pages } = await (await ada.get(`${api}/entries`)).json();
  expect(data.map((line: { balance_usd: string }) => line.balance_usd)).toEqual(["2", "3"]);
  expect(pages).toBe(1);
  const response = await ada.get(`${api}/entries.csv`);
  expect(response.headers.get("content-type")).toStartWith("text/csv");
  expect((await response.text()).split("\r\n")).toEqual([
    "at,kind,amount_usd,balance_usd,note",
    `1970-01-01T00:00:00.002Z,debit,-1,2,"'=cmd(""-1"")"`,
    `1970-01-01T00:00:00.001Z,credit,3,3,"'=cmd(""3"")"`,
    "",
  ]);
  expect(await (await ben.get(`${api}/entries`)).json()).toMatchObject({ data: [] });

  await addCharge(store, accountId, 0, 500_000_000);
  const [, newest] = (await (await ada.get(`${api}/entries.csv`)).text()).split("\r\n");
  // Not at the end of a day that goes on, and by the name that the page has for it.
  expect(newest).toBe(`${new Date(Math.min(86_399_999, clock.now())).toISOString()},usage,-0.5,1.5,`);
  await expectError(await ada.get(`${api}/entries?page=0`), { status: 400, param: "page" });
});

test("a monthly statement adds up exactly, as JSON and as CSV, and charges without calls have no model", async () => {
  const { ada, ben, store, clock } = await twoMembers();
  const accountId = ada.account.id;
  const at = (text: string) => Date.parse(`${text}Z`);
  const credit = (moment: string, nanodollars: number, note: string) =>
    creditWallet(store, { accountId, nanodollars, note }, () => at(moment));
  const charge = (moment: string, nanodollars: number) =>
    addCharge(store, accountId, Math.floor(at(moment) / 86_400_000), nanodollars);
  await credit("2025-02-28T23:59:59.999", 10_000_000_001, "last moment of February");
  await charge("2025-02-28T12:00:00", 1_000_000_000);
  await credit("2025-03-01T00:00:00", 2_000_000_000, "=first moment of March");
  await charge("2025-03-01T12:00:00", 3);
  await charge("2025-03-31T12:00:00", 500_000_000);
  await credit("2025-03-31T23:59:59.999", -250_000_000, "refund");
  await charge("2025-04-01T12:00:00", 7_000_000_000);
  expect(await (await ada.get(`${api}/statement?month=2025-03`)).json()).toMatchObject({
    month: "2025-03",
    open: false,
    first_month: "2025-02",
    opening_usd: "9.000000001",
    closing_usd: "10.249999998",
    charges_usd: "-0.500000003",
    transactions_usd: "1.75",
    charges: [{ name: null, requests: null, charged_usd: "-0.500000003" }],
    transactions: [
      { kind: "credit", amount_usd: "2", note: "=first moment of March" },
      { kind: "debit", amount_usd: "-0.25", note: "refund" },
    ],
  });
  const csv = await ada.get(`${api}/statement.csv?month=2025-03`);
  expect(csv.headers.get("content-disposition")).toContain('"modelgate-statement-2025-03.csv"');
  expect((await csv.text()).split("\r\n")).toEqual([
    "section,at,name,requests,prompt_tokens,completion_tokens,amount_usd",
    '"opening balance","2025-03-01T00:00:00.000Z",,,,,"9.000000001"',
    '"charges",,"other charges",,,,"-0.500000003"',
    `"credit","2025-03-01T00:00:00.000Z","'=first moment of March",,,,"2"`,
    '"debit","2025-03-31T23:59:59.999Z","refund",,,,"-0.25"',
    '"closing balance","2025-04-01T00:00:00.000Z",,,,,"10.249999998"',
    "",
  ]);
  const now = await (await ben.get(`${api}/statement`)).json();
  const month = new Date(clock.now()).toISOString().slice(0, 7);
  expect(now).toMatchObject({ month, open: true, opening_usd: "0", closing_usd: "0", charges: [], transactions: [] });
  await expectError(await ada.get(`${api}/statement?month=2025-13`), { status: 400, param: "month" });
});

test("a statement has the models of calls that ended this moment, as it has them once they are in the sums", async () => {
  const { ada, ben, store, clock } = await twoMembers();
  const call = async (callId: string, model: string, chargedNanodollars: number, openedAt = clock.now()) => {
    const open = openOf(callId, { accountId: ada.account.id, model, openedAt });
    await recordCalls(store, [open, endOf(open, { costNanodollars: chargedNanodollars, chargedNanodollars })]);
  };
  await call("charge-1", "model-1", 10);
  await call("charge-2", "model-3", 99, startOfDay(startOfPeriod(clock.now())) - 1);
  await rollUp(store);
  await call("charge-3", "model-1", 5);
  await call("charge-4", "model-2", 20);
  const line = { requests: 1, prompt_tokens: 3, completion_tokens: 4 };
  const charges = [
    { ...line, name: "model-2", charged_usd: "-0.00000002" },
    { name: "model-1", requests: 2, prompt_tokens: 6, completion_tokens: 8, charged_usd: "-0.000000015" },
  ];
  const read = async () => (await ada.get(`${api}/statement`)).json();
  const statement = await read();
  expect(statement).toMatchObject({ charges, charges_usd: "-0.000000035", opening_usd: "-0.000000099" });
  await rollUp(store);
  expect(await read()).toEqual({ ...statement, until: expect.any(String) });
  expect(await (await ben.get(`${api}/statement`)).json()).toMatchObject({ charges: [] });
});
