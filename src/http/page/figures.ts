import type { Account, AccountRow, ApiKey, AuditRow, Voucher } from "../../accounts/index.ts";
import { formatUsd, type QuotaState, type WalletState } from "../../contract/index.ts";
import type { LatestCalls, RecentCall, StatementLine } from "../../ledger/index.ts";

/** As many of a list as are told at once. */
export const linesOfPage = 50;

/** How the page is told things: times as ISO text, money as exact decimal text, `null` for what there is not. */
export function isoOf(at: number | null | undefined): string | null {
  return at === undefined || at === null ? null : new Date(at).toISOString();
}

export function walletFigures({ balanceNanodollars, heldNanodollars }: WalletState) {
  return { balance_usd: formatUsd(balanceNanodollars), held_usd: formatUsd(heldNanodollars) };
}

export function quotaFigures({ limitTokens, usedTokens, heldTokens, resetsAt }: QuotaState) {
  const remaining = Math.max(0, limitTokens - usedTokens - heldTokens);
  return {
    limit: limitTokens,
    used: usedTokens,
    held: heldTokens,
    remaining,
    resets_at: new Date(resetsAt).toISOString(),
  };
}

export function keyFigures(key: ApiKey) {
  const budget = key.bounds.budgetNanodollars;
  return {
    id: key.id,
    name: key.name,
    allowed_models: key.allowedModels ?? null,
    budget_usd: budget === undefined ? null : formatUsd(budget),
    /** What the budget has paid this UTC month. */
    budget_used_usd: budget === undefined ? null : formatUsd(key.spentNanodollars),
    requests_per_minute: key.bounds.requestsPerMinute ?? null,
    tokens_per_minute: key.bounds.tokensPerMinute ?? null,
    concurrent_calls: key.bounds.concurrentCalls ?? null,
    created_at: isoOf(key.createdAt),
    expires_at: isoOf(key.expiresAt),
    revoked_at: isoOf(key.revokedAt),
    last_used_at: isoOf(key.lastUsedAt),
  };
}

export function lineFigures({ at, kind, nanodollars, note, balanceNanodollars }: StatementLine) {
  return {
    at: isoOf(at),
    kind,
    amount_usd: formatUsd(nanodollars),
    balance_usd: formatUsd(balanceNanodollars),
    note: note ?? null,
  };
}

export function callFigures(call: RecentCall) {
  const { opened_at, premium, cost_nanodollars: cost, charged_nanodollars: charged, ...rest } = call;
  return {
    ...rest,
    at: isoOf(opened_at),
    premium: premium !== 0,
    cost_usd: cost === null ? null : formatUsd(cost),
    charged_usd: charged === null ? null : formatUsd(charged),
  };
}

export function latestFigures({ calls, stamp }: LatestCalls) {
  return { data: calls.map(callFigures), stamp };
}

function accountFigures(account: Account) {
  return {
    id: account.id,
    email: account.email,
    name: account.name ?? null,
    free_tokens_per_day: account.freeTokensPerDay ?? null,
    created_at: isoOf(account.createdAt),
    disabled_at: isoOf(account.disabledAt),
  };
}

export function accountRowFigures({ balanceNanodollars, role, ...account }: AccountRow) {
  return { ...accountFigures(account), role: role ?? null, balance_usd: formatUsd(balanceNanodollars) };
}

export function voucherFigures(voucher: Voucher) {
  return {
    id: voucher.id,
    usd: formatUsd(voucher.nanodollars),
    created_at: isoOf(voucher.createdAt),
    expires_at: isoOf(voucher.expiresAt),
    voided_at: isoOf(voucher.voidedAt),
    redeemed_at: isoOf(voucher.redeemedAt),
    redeemed_by: voucher.redeemedBy ?? null,
  };
}

export function deedFigures(
  { id, at, accountId, action, subject, detail }: AuditRow,
  emails: ReadonlyMap<string, string>,
) {
  const who = { account: accountId, email: emails.get(accountId) ?? null };
  return { id, at: isoOf(at), ...who, action, subject, subject_email: emails.get(subject) ?? null, detail };
}
