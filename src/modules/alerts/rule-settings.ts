import type { Store } from "../../db/index.ts";
import { getRuleInfo, type Rule, ruleNames, type Thresholds } from "./rules.ts";

/** The `owner` of the operator's channels, rules and alerts; other owners are the ids of accounts. */
export const gatewayOwner = "gateway";

/** A rule as its owner set it. */
export interface RuleSetting {
  readonly rule: Rule;
  readonly isEnabled: boolean;
  readonly threshold: number | undefined;
}

/** The rules that an owner has. */
export function getRulesOf(owner: string): Rule[] {
  return ruleNames.filter((rule) => owner === gatewayOwner || getRuleInfo(rule).isForAccounts === true);
}

/** The rules of each owner that changed one, and of those that are named. */
export async function readRules(
  { db }: Pick<Store, "db">,
  owners: readonly string[],
): Promise<ReadonlyMap<string, readonly RuleSetting[]>> {
  const rows =
    owners.length === 0 ? [] : await db.selectFrom("alert_rules").selectAll().where("owner", "in", owners).execute();
  const byId = new Map(rows.map((row) => [`${row.owner} ${row.rule}`, row]));
  const toSetting = (owner: string, rule: Rule): RuleSetting => {
    const row = byId.get(`${owner} ${rule}`);
    return { rule, isEnabled: row?.enabled !== 0, threshold: row?.threshold ?? getRuleInfo(rule).threshold };
  };
  return new Map(owners.map((owner) => [owner, getRulesOf(owner).map((rule) => toSetting(owner, rule))]));
}

export function toThresholds(settings: readonly RuleSetting[]): Thresholds {
  const enabled = settings.filter(({ isEnabled }) => isEnabled);
  return Object.fromEntries(enabled.map(({ rule, threshold = 0 }) => [rule, threshold]));
}

export async function writeRule({ db }: Pick<Store, "db">, owner: string, setting: RuleSetting): Promise<void> {
  const change = { enabled: setting.isEnabled ? 1 : 0, threshold: setting.threshold ?? null };
  await db
    .insertInto("alert_rules")
    .values({ owner, rule: setting.rule, ...change })
    .onConflict((conflict) => conflict.columns(["owner", "rule"]).doUpdateSet(change))
    .execute();
}
