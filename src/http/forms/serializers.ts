import { type Static, Type } from "@sinclair/typebox";
import type { AuditRow } from "../../audit/index.ts";
import { accountLabel, formatUsd, type QuotaState, toRealEmail, type WalletState } from "../../contract/index.ts";
import type { Session } from "../../identity/index.ts";
import { type ApiKey, toKeyFieldsJson } from "../../keys/index.ts";
import { reversedBy, whyIrreversible } from "../../ledger/index.ts";
import { type LatestCalls, type RecentCall, type StatementLine, toStatementLineJson } from "../../reports/index.ts";
import { type Account, type AccountNames, type AccountRow, isVerified } from "../../tenants/index.ts";

/** Entries on one page of a list. */
export const pageSize = 50;

/** A time in ISO 8601. Throughout the dashboard's API money is exact decimal text, and `null` stands for what is absent. */
export function toIso(at: number | null | undefined): string | null {
  return at === undefined || at === null ? null : new Date(at).toISOString();
}

/** The name of an account in one line, and its e-mail: `null` for a team without one, and both where nobody may know. */
export function toOwnerJson(owners: ReadonlyMap<string, AccountNames> | undefined, accountId: string) {
  const owner = owners?.get(accountId);
  return { account_name: owner?.label ?? null, email: owner?.email ?? null };
}

export function toWalletJson({ balanceNanodollars, heldNanodollars }: WalletState) {
  return { balance_usd: formatUsd(balanceNanodollars), held_usd: formatUsd(heldNanodollars) };
}

export function toQuotaJson({ limitTokens, usedTokens, heldTokens, resetsAt }: QuotaState) {
  const remaining = Math.max(0, limitTokens - usedTokens - heldTokens);
  return {
    limit: limitTokens,
    used: usedTokens,
    held: heldTokens,
    remaining,
    resets_at: new Date(resetsAt).toISOString(),
  };
}

export function toKeyJson(key: ApiKey) {
  return {
    id: key.id,
    name: key.name,
    ...toKeyFieldsJson(key),
    /** The subject of the tokens (JWT) that the key stands for. */
    token: key.tokenSubject ?? null,
    /** Until when the secret before the last rotation works. */
    previous_until: toIso(key.previousUntil),
    /** Spent of the budget in its running period. */
    budget_used_usd: key.bounds.budgetNanodollars === undefined ? null : formatUsd(key.spentNanodollars),
    created_at: toIso(key.createdAt),
    expires_at: toIso(key.expiresAt),
    revoked_at: toIso(key.revokedAt),
    last_used_at: toIso(key.lastUsedAt),
  };
}

export const PageNumber = Type.Object({ page: Type.Optional(Type.String({ pattern: "^[1-9]\\d{0,5}$" })) });

/** One page of a whole statement. @param isOfOperator Whether the reader may reverse credits, and so sees their ids. */
export function toStatementPage(
  lines: readonly StatementLine[],
  query: Static<typeof PageNumber>,
  isOfOperator: boolean,
) {
  const page = Number(query.page ?? "1");
  const shown = lines.slice((page - 1) * pageSize, page * pageSize);
  const reversed = reversedBy(lines.map(({ id = "" }) => id));
  const data = shown.map((line) => {
    const { id, nanodollars } = line;
    const isReversible = isOfOperator && id !== undefined;
    const reversal = isReversible ? { id, refusal: whyIrreversible({ id, nanodollars }, reversed) ?? null } : null;
    /** `null`: it is no credit or debit, or the reader reverses none. */
    return { ...toStatementLineJson(line), reversal };
  });
  return { data, page, pages: Math.max(1, Math.ceil(lines.length / pageSize)) };
}

/** A call, or a request that was `refused` before it became one; `requests` is how many a refused row stands for. */
export function toCallJson(call: RecentCall) {
  const { opened_at, premium, state, requests, cost_nanodollars: cost, charged_nanodollars: charged, ...rest } = call;
  return {
    ...rest,
    at: toIso(opened_at),
    state: state ?? "refused",
    requests: requests ?? 1,
    premium: premium === null ? null : premium !== 0,
    cost_usd: cost === null ? null : formatUsd(cost),
    charged_usd: charged === null ? null : formatUsd(charged),
  };
}

export function toLatestCallsJson({ calls, stamp }: LatestCalls) {
  return { data: calls.map(toCallJson), stamp };
}

/** @param orphans The ids of teams none of whose admins can sign in. */
export function toAccountJson(account: Account, orphans: ReadonlySet<string>) {
  return {
    id: account.id,
    without_admin: orphans.has(account.id),
    /** In one line: the e-mail, or the name of a team. */
    label: accountLabel(account),
    /** `null`: a team without one. */
    email: toRealEmail(account.email),
    is_team: toRealEmail(account.email) === null,
    /** `false`: somebody signed up with it, and nobody knows whether it is theirs; `null`: nobody signs in. */
    email_verified: isVerified(account) ?? null,
    name: account.name ?? null,
    free_tokens_per_day: account.freeTokensPerDay ?? null,
    allowed_models: account.allowedModels ?? null,
    /** Its budget bounds paid calls in place of its wallet, whose balance shows what it owes. */
    billed_afterwards: account.isBilledAfterwards,
    created_at: toIso(account.createdAt),
    disabled_at: toIso(account.disabledAt),
  };
}

export function toAccountRowJson(
  { balanceNanodollars, chargedNanodollars, lastUsedAt, role, ...account }: AccountRow,
  orphans: ReadonlySet<string>,
) {
  return {
    ...toAccountJson(account, orphans),
    role: role ?? null,
    balance_usd: formatUsd(balanceNanodollars),
    spend_30_days_usd: formatUsd(chargedNanodollars),
    last_used_at: toIso(lastUsedAt),
  };
}

export function toSessionJson({ id, createdAt, expiresAt, lastUsedAt, address, userAgent }: Session) {
  return {
    id,
    created_at: toIso(createdAt),
    expires_at: toIso(expiresAt),
    last_used_at: toIso(lastUsedAt),
    address: address ?? null,
    user_agent: userAgent ?? null,
  };
}

export function toAuditEntryJson(
  { id, at, accountId, osUser, action, subject, detail }: AuditRow,
  owners: ReadonlyMap<string, AccountNames>,
) {
  const who = { account: accountId, ...toOwnerJson(owners, accountId), os_user: osUser ?? null };
  const ofSubject = owners.get(subject);
  return {
    id,
    at: toIso(at),
    ...who,
    action,
    subject,
    subject_name: ofSubject?.label ?? null,
    subject_email: ofSubject?.email ?? null,
    detail,
  };
}
