import type { ApiKey } from "../../accounts/index.ts";
import { formatUsd } from "../../contract/index.ts";
import { columns } from "../columns.ts";
import { defineCommand } from "../command.ts";
import { boundsJson } from "../lib/key-limits.ts";
import { accountOf, withStore } from "../lib/with-store.ts";

export const keyList = defineCommand({
  name: "key list",
  about: "List the API keys, without their secrets",
  flags: { account: { value: "A", about: "Only those of this account, by id or e-mail" } },
  args: [],
  example: "key list --account ada@example.org",
  async run(_ground, { flags, config, now }) {
    const { keys, emails } = await withStore(config, async ({ accounts }) => {
      const account = flags.account === undefined ? undefined : await accountOf(accounts, flags.account);
      const emails = new Map((await accounts.list()).map(({ id, email }) => [id, email]));
      return { keys: await accounts.listKeys(account?.id), emails };
    });
    const rows = keys.map((key) => {
      const models = key.allowedModels === undefined ? "all models" : key.allowedModels.join(",");
      const owner = emails.get(key.accountId) ?? key.accountId;
      return [key.id, owner, key.name, stateOf(key, now), models, budgetText(key), useOf(key)];
    });
    const text = rows.length === 0 ? "No keys yet; make one with modelgate key create" : columns(rows);
    return { json: keys.map((key) => keyJson(key, now)), text };
  },
});

function keyJson(key: ApiKey, now: number) {
  return {
    id: key.id,
    account: key.accountId,
    name: key.name,
    state: stateOf(key, now).split(" ")[0],
    expires_at: isoOf(key.expiresAt),
    allowed_models: key.allowedModels ?? null,
    ...boundsJson(key.bounds),
    budget_used_usd: key.bounds.budgetNanodollars === undefined ? null : formatUsd(key.spentNanodollars),
    created_at: isoOf(key.createdAt),
    revoked_at: isoOf(key.revokedAt),
    last_used_at: isoOf(key.lastUsedAt),
  };
}

function budgetText({ bounds, spentNanodollars }: ApiKey): string {
  const budget = bounds.budgetNanodollars;
  return budget === undefined ? "no budget" : `${formatUsd(spentNanodollars)} of ${formatUsd(budget)} USD this month`;
}

function stateOf({ revokedAt, expiresAt }: ApiKey, now: number): string {
  if (revokedAt !== undefined) return "revoked";
  if (expiresAt === undefined) return "active";
  return expiresAt <= now ? "expired" : `active until ${minuteOf(expiresAt)}`;
}

function useOf({ lastUsedAt }: ApiKey): string {
  return lastUsedAt === undefined ? "never used" : `last used ${minuteOf(lastUsedAt)}`;
}

function minuteOf(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}

function isoOf(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
