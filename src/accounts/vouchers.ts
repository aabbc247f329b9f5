import { createHash, randomInt } from "node:crypto";
import type { Selectable } from "kysely";
import { formatUsd, GatewayError } from "../contract/index.ts";
import { type Database, moveWallet, type Store, type TransactionScope } from "../db/index.ts";
import { validateExpiry } from "./validate-expiry.ts";

/** A code worth money, without the code: that is shown once. */
export interface Voucher {
  id: string;
  nanodollars: number;
  /** Milliseconds since 1970, as the other times. */
  createdAt: number;
  expiresAt: number | undefined;
  voidedAt: number | undefined;
  redeemedAt: number | undefined;
  /** The account whose wallet it filled. */
  redeemedBy: string | undefined;
}

/** Letters and digits that are not taken for one another (Crockford's base 32). */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const codeLength = 20;
const idLength = 8;
const listedMax = 1000;

/**
 * Makes a voucher. Its code is returned this once and kept nowhere.
 *
 * @throws {GatewayError} `invalid_request` for an amount that is not above 0 or a time that is past.
 */
export async function createVoucher(
  { db }: TransactionScope,
  { nanodollars, expiresAt }: { nanodollars: number; expiresAt?: number | undefined },
  now: number,
): Promise<{ id: string; code: string }> {
  if (!Number.isSafeInteger(nanodollars) || nanodollars <= 0) {
    throw new GatewayError("invalid_request", "A voucher is worth more than 0 USD", { param: "usd" });
  }
  if (expiresAt !== undefined) validateExpiry(expiresAt, now);
  const [id, letters] = [`vch_${draw(idLength)}`, draw(codeLength)];
  await db
    .insertInto("vouchers")
    .values({
      id,
      code_hash: hashCode(letters),
      amount_nanodollars: nanodollars,
      created_at: now,
      expires_at: expiresAt ?? null,
      voided_at: null,
      redeemed_at: null,
      redeemed_by: null,
    })
    .execute();
  return { id, code: letters.replace(/.{5}(?=.)/g, "$&-") };
}

/** The newest thousand, newest first. */
export async function listVouchers({ db }: Store): Promise<Voucher[]> {
  const rows = await db
    .selectFrom("vouchers")
    .selectAll()
    .orderBy("created_at", "desc")
    .orderBy("id")
    .limit(listedMax)
    .execute();
  return rows.map(voucherOf);
}

/** Those that filled an account's wallet, the latest thousand, newest first. */
export async function redeemedVouchers({ db }: Store, accountId: string): Promise<Voucher[]> {
  const rows = await db
    .selectFrom("vouchers")
    .selectAll()
    .where("redeemed_by", "=", accountId)
    .orderBy("redeemed_at", "desc")
    .orderBy("id")
    .limit(listedMax)
    .execute();
  return rows.map(voucherOf);
}

/** Makes a voucher worthless, by its id or code. @throws {GatewayError} `not_found`, `conflict` when it is redeemed. */
export async function voidVoucher({ db }: TransactionScope, idOrCode: string, now: number): Promise<{ id: string }> {
  const voucher = await db
    .selectFrom("vouchers")
    .select(["id", "redeemed_at"])
    .where((where) => where.or([where("id", "=", idOrCode.trim()), where("code_hash", "=", hashCode(idOrCode))]))
    .executeTakeFirst();
  if (voucher === undefined)
    throw new GatewayError("not_found", "No voucher has this code or id; see the list of them");
  const { numUpdatedRows } = await db
    .updateTable("vouchers")
    .set((set) => ({ voided_at: set.fn.coalesce("voided_at", set.val(now)) }))
    .where("id", "=", voucher.id)
    .where("redeemed_at", "is", null)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw new GatewayError("conflict", `Voucher ${voucher.id} is redeemed already`);
  return { id: voucher.id };
}

/**
 * Fills a wallet. Of two who redeem a voucher at once, one does: its row is taken and its entry written in one
 * transaction, and the entry's id is the voucher's.
 *
 * @returns What it was worth.
 * @throws {GatewayError} `not_found` for a code that is none, `conflict` for one that is redeemed, void or expired.
 */
export async function redeemVoucher(
  store: Store,
  { accountId, code }: { accountId: string; code: string },
  now: number,
): Promise<{ nanodollars: number }> {
  return store.change(async (db) => {
    const taken = await db
      .updateTable("vouchers")
      .set({ redeemed_at: now, redeemed_by: accountId })
      .where("code_hash", "=", hashCode(code))
      .where("redeemed_at", "is", null)
      .where("voided_at", "is", null)
      .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", now)]))
      .returning(["id", "amount_nanodollars"])
      .executeTakeFirst();
    if (taken === undefined) throw await reasonWhyNot(db, code);
    const { id, amount_nanodollars: nanodollars } = taken;
    await db
      .insertInto("entries")
      .values({
        id: `voucher:${id}`,
        account_id: accountId,
        kind: "credit",
        amount_nanodollars: nanodollars,
        note: `Voucher ${id}`,
        at: now,
      })
      .execute();
    const balance = Number(await moveWallet(db, accountId, nanodollars));
    if (Number.isSafeInteger(balance)) return { nanodollars };
    throw new GatewayError("conflict", `The wallet has no room for ${formatUsd(nanodollars)} USD more`);
  });
}

async function reasonWhyNot(db: Pick<Store["db"], "selectFrom">, code: string): Promise<GatewayError> {
  const voucher = await db
    .selectFrom("vouchers")
    .select(["redeemed_at", "voided_at"])
    .where("code_hash", "=", hashCode(code))
    .executeTakeFirst();
  const param = "code";
  if (voucher === undefined) {
    return new GatewayError("not_found", "No voucher has this code; check that it was copied whole", { param });
  }
  const state =
    voucher.redeemed_at !== null ? "is redeemed already" : voucher.voided_at !== null ? "is void" : "has expired";
  return new GatewayError("conflict", `This voucher ${state}; ask for another`, { param });
}

function voucherOf(row: Selectable<Database["vouchers"]>): Voucher {
  return {
    id: row.id,
    nanodollars: row.amount_nanodollars,
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    voidedAt: row.voided_at ?? undefined,
    redeemedAt: row.redeemed_at ?? undefined,
    redeemedBy: row.redeemed_by ?? undefined,
  };
}

function draw(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
}

/** 100 random bits need no slow hash. Case, spaces and dashes do not matter, nor O for 0 and I or L for 1. */
function hashCode(code: string): string {
  const plain = code.toUpperCase().replaceAll(/[\s-]/g, "").replaceAll("O", "0").replaceAll(/[IL]/g, "1");
  return createHash("sha256").update(plain).digest("hex");
}
