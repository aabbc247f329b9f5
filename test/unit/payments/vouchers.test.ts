import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import { createVoucher, listVouchers, redeemVoucher, voidVoucher } from "../../../src/modules/payments/vouchers.ts";
import { temporaryStore } from "../../integration/db/temporary-store.ts";

const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };
const fiveUsd = 5_000_000_000;

async function fixture() {
  const store = await temporaryStore();
  const accounts = createAccounts({ store, defaults, now: () => 1000 });
  const [ada, ben] = [
    await accounts.create({ email: "ada@example.org" }),
    await accounts.create({ email: "ben@example.org" }),
  ];
  const redeem = (code: string, accountId = ada.id, now = 2000) => redeemVoucher(store, { accountId, code }, now);
  return { store, ada, ben, redeem };
}

async function refusalOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(GatewayError);
  return `${(error as GatewayError).code}: ${(error as GatewayError).message}`;
}

describe("a voucher", () => {
  test("credits a wallet once, however its code is typed", async () => {
    const { store, ada, redeem } = await fixture();
    const { id, code } = await createVoucher(store, { nanodollars: fiveUsd }, 1000);
    expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{5}-){3}[0-9A-HJKMNP-TV-Z]{5}$/);
    expect(await redeem(` ${code.toLowerCase().replaceAll("-", " ")} `)).toEqual({ nanodollars: fiveUsd });
    expect((await readWalletState(store, ada.id)).balanceNanodollars).toBe(fiveUsd);
    expect(await refusalOf(redeem(code))).toMatch(/^conflict: This voucher was already redeemed/);
    expect(await listVouchers(store)).toEqual([
      {
        id,
        nanodollars: fiveUsd,
        createdAt: 1000,
        expiresAt: undefined,
        voidedAt: undefined,
        redeemedAt: 2000,
        redeemedBy: ada.id,
      },
    ]);
    expect(await verifyLedger(store)).toMatchObject({ ok: true });
  });

  test("is redeemed once by concurrent requests", async () => {
    const { store, ada, ben, redeem } = await fixture();
    const { code } = await createVoucher(store, { nanodollars: fiveUsd }, 1000);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => redeem(code, index % 2 === 0 ? ada.id : ben.id)),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const balances = await Promise.all(
      [ada, ben].map(async ({ id }) => (await readWalletState(store, id)).balanceNanodollars),
    );
    expect(balances.sort()).toEqual([0, fiveUsd]);
  });

  test("is refused when it is expired, void or unknown, and nothing changes", async () => {
    const { store, ada, redeem } = await fixture();
    const expired = await createVoucher(store, { nanodollars: fiveUsd, expiresAt: 2000 }, 1000);
    const voided = await createVoucher(store, { nanodollars: fiveUsd }, 1000);
    await voidVoucher(store, voided.code, 1500);
    expect(await refusalOf(redeem(expired.code))).toMatch(/^conflict: This voucher has expired/);
    expect(await refusalOf(redeem(voided.code))).toMatch(/^conflict: This voucher was voided/);
    expect(await refusalOf(redeem("x".repeat(10_000)))).toMatch(/^not_found: /);
    expect((await readWalletState(store, ada.id)).balanceNanodollars).toBe(0);
    expect(await redeem((await createVoucher(store, { nanodollars: 1, expiresAt: 2001 }, 1000)).code)).toEqual({
      nanodollars: 1,
    });
  });

  test("cannot be voided once it is redeemed; voiding twice is allowed", async () => {
    const { store, redeem } = await fixture();
    const { id, code } = await createVoucher(store, { nanodollars: fiveUsd }, 1000);
    await redeem(code);
    expect(await refusalOf(voidVoucher(store, id, 3000))).toMatch(/^conflict: /);
    expect(await refusalOf(voidVoucher(store, "vch_none", 3000))).toMatch(/^not_found: /);
    const other = await createVoucher(store, { nanodollars: fiveUsd }, 1000);
    for (const now of [3000, 4000]) expect(await voidVoucher(store, other.id, now)).toEqual({ id: other.id });
    expect((await listVouchers(store)).find((voucher) => voucher.id === other.id)?.voidedAt).toBe(3000);
  });

  test("is found behind another on a list, newest first, also one of the same moment", async () => {
    const { store } = await fixture();
    for (const at of [1000, 2000, 2000, 2000, 3000]) await createVoucher(store, { nanodollars: 1 }, at);
    const all = await listVouchers(store);
    expect(all.map(({ createdAt }) => createdAt)).toEqual([3000, 2000, 2000, 2000, 1000]);
    for (const [place, { id }] of all.entries()) {
      expect(await listVouchers(store, { limit: 2, after: id })).toEqual(all.slice(place + 1, place + 3));
    }
    expect(await refusalOf(listVouchers(store, { after: "vch_none" }))).toMatch(/^invalid_request: /);
  });

  test.each([
    [{ nanodollars: 0 }],
    [{ nanodollars: -1 }],
    [{ nanodollars: 0.5 }],
    [{ nanodollars: 1, expiresAt: 1000 }],
  ])("is not created from %j", async (fields) => {
    const { store } = await fixture();
    expect(await refusalOf(createVoucher(store, fields, 1000))).toMatch(/^invalid_request: /);
  });
});
