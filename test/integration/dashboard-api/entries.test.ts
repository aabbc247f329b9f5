import { expect, test } from "bun:test";
import { creditWallet } from "../../../src/ledger/index.ts";
import { expectError } from "../../support/expect-error.ts";
import { addCharge } from "../../support/ledger-rows.ts";
import { twoMembers } from "../../unit/http/dashboard-http.ts";

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
