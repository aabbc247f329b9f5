import { createHash, randomInt } from "node:crypto";
import type { Selectable } from "kysely";
import type { Administrator, Audited } from "../../audit/index.ts";
import { formatUsd, GatewayError } from "../../contract/index.ts";
import { type Database, moveWallet, type Store, type TransactionScope } from "../../db/index.ts";
import { validateExpiry } from "../../lib/expiry.ts";

/** A voucher without its code, which is shown only once. */
export interface Voucher {
  id: string;
  nanodollars: number;
  /** Milliseconds since 1970, like all times here. */
  createdAt: number;
  expiresAt: number | undefined;
  voidedAt: number | undefined;
  redeemedAt: number | undefined;
  /** The account whose wallet was credited. */
  redeemedBy: string | undefined;
}

export const voucherStatuses = ["unused", "redeemed", "void", "expired"] as const;

/** The state of a voucher at a time. Only an unused one adds credit. */
export function statusOfVoucher(
  { redeemedAt, voidedAt, expiresAt }: Voucher,
  now: number,
): (typeof voucherStatuses)[number] {
  if (redeemedAt !== undefined) return "redeemed";
  if (voidedAt !== undefined) return "void";
  return expiresAt !== undefined && expiresAt <= now ? "expired" : "unused";
}

/** Crockford's base 32, which excludes letters and digits that look alike. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const codeLength = 20;
const idLength = 8;
const listedMax = 1000;

/**
 * Creates a voucher. Its code is returned only here; the store has its hash.
 *
 * @throws {GatewayError} `invalid_request` for an amount that is not positive or a time in the past.
 */
export async function createVoucher(
  { db }: TransactionScope,
  { nanodollars, expiresAt }: { nanodollars: number; expiresAt?: number | undefined },
  now: number,
): Promise<{ id: string; code: string }> {
  if (!Number.isSafeInteger(nanodollars) || nanodollars <= 0) {
    throw new GatewayError("invalid_request", "The amount of a voucher must be more than 0 USD", { param: "usd" });
  }
  if (expiresAt !== undefined) validateExpiry(expiresAt, now);
  const [id, letters] = [`vch_${randomCode(idLength)}`, randomCode(codeLength)];
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

/**
 * Lists vouchers, newest first: at most `limit`, by default a thousand, those that come behind the one whose id is `after`.
 *
 * @throws {GatewayError} `invalid_request` for an `after` that no voucher has.
 */
export async function listVouchers(
  { db }: Pick<Store, "db">,
  { limit = listedMax, after }: { limit?: number; after?: string | undefined } = {},
): Promise<Voucher[]> {
  let query = db.selectFrom("vouchers").selectAll();
  if (after !== undefined) {
    const last = await db.selectFrom("vouchers").select("created_at").where("id", "=", after).executeTakeFirst();
    if (last === undefined) {
      throw new GatewayError("invalid_request", "after is the id of no voucher", { param: "after" });
    }
    query = query.where((where) => where(where.refTuple("created_at", "id"), "<", where.tuple(last.created_at, after)));
  }
  const rows = await query.orderBy("created_at", "desc").orderBy("id", "desc").limit(limit).execute();
  return rows.map(toVoucher);
}

/** @throws {GatewayError} `not_found` */
export async function readVoucher({ db }: Pick<Store, "db">, id: string): Promise<Voucher> {
  const row = await db.selectFrom("vouchers").selectAll().where("id", "=", id).executeTakeFirst();
  if (row === undefined) throw new GatewayError("not_found", "No voucher has this id; see the list of vouchers");
  return toVoucher(row);
}

/** Lists up to a thousand vouchers that an account redeemed, newest first. */
export async function redeemedVouchers({ db }: Store, accountId: string): Promise<Voucher[]> {
  const rows = await db
    .selectFrom("vouchers")
    .selectAll()
    .where("redeemed_by", "=", accountId)
    .orderBy("redeemed_at", "desc")
    .orderBy("id")
    .limit(listedMax)
    .execute();
  return rows.map(toVoucher);
}

/** Voids a voucher by its id or code. @throws {GatewayError} `not_found`, `conflict` when it was redeemed. */
export async function voidVoucher({ db }: TransactionScope, idOrCode: string, now: number): Promise<{ id: string }> {
  const voucher = await db
    .selectFrom("vouchers")
    .select(["id", "redeemed_at"])
    .where((where) => where.or([where("id", "=", idOrCode.trim()), where("code_hash", "=", hashCode(idOrCode))]))
    .executeTakeFirst();
  if (voucher === undefined)
    throw new GatewayError("not_found", "No voucher has this code or id; see the list of vouchers");
  const { numUpdatedRows } = await db
    .updateTable("vouchers")
    .set((set) => ({ voided_at: set.fn.coalesce("voided_at", set.val(now)) }))
    .where("id", "=", voucher.id)
    .where("redeemed_at", "is", null)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw new GatewayError("conflict", `Voucher ${voucher.id} was already redeemed`);
  return { id: voucher.id };
}

/**
 * Credits the amount of a voucher to a wallet. The voucher's row and the entry, whose id is the voucher's, are written in one
 * transaction, so concurrent attempts redeem it once.
 *
 * @returns The credited amount.
 * @throws {GatewayError} `not_found` for an unknown code, `conflict` for a redeemed, void or expired voucher.
 */
export async function redeemVoucher(
  store: Store,
  { accountId, code }: { accountId: string; code: string },
  now: number,
): Promise<{ nanodollars: number }> {
  return store.change(async (db) => {
    const redeemed = await db
      .updateTable("vouchers")
      .set({ redeemed_at: now, redeemed_by: accountId })
      .where("code_hash", "=", hashCode(code))
      .where("redeemed_at", "is", null)
      .where("voided_at", "is", null)
      .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", now)]))
      .returning(["id", "amount_nanodollars"])
      .executeTakeFirst();
    if (redeemed === undefined) throw await voucherError(db, code);
    const { id, amount_nanodollars: nanodollars } = redeemed;
    await db
      .insertInto("transactions")
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
    throw new GatewayError(
      "conflict",
      `The balance would exceed the largest amount by adding ${formatUsd(nanodollars)} USD`,
    );
  });
}

async function voucherError(db: Pick<Store["db"], "selectFrom">, code: string): Promise<GatewayError> {
  const voucher = await db
    .selectFrom("vouchers")
    .select(["redeemed_at", "voided_at"])
    .where("code_hash", "=", hashCode(code))
    .executeTakeFirst();
  const param = "code";
  if (voucher === undefined) {
    return new GatewayError("not_found", "No voucher has this code; check that it was copied completely", { param });
  }
  const state =
    voucher.redeemed_at !== null ? "was already redeemed" : voucher.voided_at !== null ? "was voided" : "has expired";
  return new GatewayError("conflict", `This voucher ${state}; ask for a new one`, { param });
}

function toVoucher(row: Selectable<Database["vouchers"]>): Voucher {
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

function randomCode(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
}

/** 100 random bits need no slow hash. Ignores case, spaces and dashes, and reads O as 0 and I or L as 1. */
function hashCode(code: string): string {
  const plain = code.toUpperCase().replaceAll(/[\s-]/g, "").replaceAll("O", "0").replaceAll(/[IL]/g, "1");
  return createHash("sha256").update(plain).digest("hex");
}

/** The actions of administrators with vouchers; each writes an audit entry with who did it (`by`). */
export function voucherActions(audited: Audited, now: () => number) {
  return {
    createVoucher: (by: Administrator, voucher: { nanodollars: number; expiresAt: number | undefined }) =>
      audited(
        (scope) => createVoucher(scope, voucher, now()),
        ({ id }) => {
          const expires = voucher.expiresAt === undefined ? null : new Date(voucher.expiresAt).toISOString();
          const detail = { usd: formatUsd(voucher.nanodollars), expires_at: expires };
          return { accountId: by.accountId, action: "voucher.create", subject: id, detail };
        },
      ),
    voidVoucher: (by: Administrator, idOrCode: string) =>
      audited(
        (scope) => voidVoucher(scope, idOrCode, now()),
        ({ id }) => ({ accountId: by.accountId, action: "voucher.void", subject: id, detail: {} }),
      ),
  };
}
