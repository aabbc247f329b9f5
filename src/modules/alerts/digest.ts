import { type Database, readSpentBudgets, type Store } from "../../db/index.ts";
import type { Kernel } from "../../kernel/index.ts";
import { listExpiringKeys } from "../../keys/index.ts";
import { getDisplayName } from "../../provider/index.ts";
import type { ProviderHealth } from "../../providers/index.ts";
import { pickMovers, type SpendChange } from "../../reports/index.ts";
import { labelsOf } from "../../tenants/index.ts";
import { readDigestFigures } from "./digest-figures.ts";
import { type DigestPeriod, digestDays, lastDigestAt, nextDigestAt } from "./digest-times.ts";
import type { AlertMessage } from "./message.ts";
import { toLink } from "./pages.ts";
import { queueMessage } from "./record-findings.ts";
import { gatewayOwner } from "./rule-settings.ts";
import { toDollars, toName } from "./rules.ts";

const hourMs = 3_600_000;
/** Entries of a list. */
const listedMax = 5;
/** A budget is listed once this share of it is spent, and a key if it expires within these days. */
const budgetShare = 0.9;
const expiryDays = 7;

type DigestFigures = Awaited<ReturnType<typeof readDigestFigures>>;

interface DigestDeps {
  readonly store: Store;
  readonly config: { readonly publicUrl: string | undefined };
  readonly kernel: Pick<Kernel, "registry">;
  readonly health: () => readonly ProviderHealth[];
  readonly freshen: () => Promise<void>;
  readonly now: () => number;
}

type DueChannel = Pick<Database["alert_channels"], "id" | "name" | "digest" | "digest_hour" | "digest_at">;

/**
 * Queues the digests that are due, each once: the node that moves a channel to its next time queues the message in the
 * same transaction. After a pause of all nodes the latest digest alone is sent.
 */
export async function queueDigests(deps: DigestDeps): Promise<void> {
  const { store, now } = deps;
  const at = now();
  const due = await store.db
    .selectFrom("alert_channels")
    .select(["id", "name", "digest", "digest_hour", "digest_at"])
    .where("owner", "=", gatewayOwner)
    .where("digest_at", "<=", at)
    .execute();
  for (const channel of due) await queueDigest(deps, channel, at);
}

async function queueDigest(deps: DigestDeps, channel: DueChannel, at: number): Promise<void> {
  const { id, name, digest: period, digest_hour: hour, digest_at: dueAt } = channel;
  if (period === "off") return;
  const slot = lastDigestAt(period, hour, at);
  const message = await createDigestMessage(deps, { period, slot, channel: { id, name }, now: at });
  await deps.store.db.transaction().execute(async (transaction) => {
    const { numUpdatedRows } = await transaction
      .updateTable("alert_channels")
      .set({ digest_at: nextDigestAt(period, hour, at) })
      .where("id", "=", id)
      .where("digest_at", "=", dueAt)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 1n) await queueMessage(transaction, id, message, at);
  });
}

interface DigestWanted {
  readonly period: DigestPeriod;
  /** When it is due: it is about the time until then. */
  readonly slot: number;
  readonly channel: { readonly id: string; readonly name: string };
  readonly now: number;
}

async function createDigestMessage(
  deps: DigestDeps,
  { period, slot, channel, now }: DigestWanted,
): Promise<AlertMessage> {
  const { store, config, kernel, health, freshen } = deps;
  const hours = digestDays[period] * 24;
  await freshen();
  const figures = await readDigestFigures(store, { until: slot / hourMs, hours, now });
  const names = await labelsOf(store, [
    ...figures.accounts.map(({ id }) => id),
    ...figures.wallets.map(({ accountId }) => accountId),
  ]);
  const nameOf = (id: string) => toName(names.get(id) ?? id);
  const nameOfModel = (id: string) => {
    const entry = kernel.registry.byName(id);
    return toName(entry === undefined ? id : getDisplayName(entry.model));
  };
  const failing = health().filter(({ state }) => state === "failing" || state === "refused");
  const firing = await store.db
    .selectFrom("alerts")
    .select(({ fn }) => fn.countAll().as("count"))
    .where("owner", "=", gatewayOwner)
    .executeTakeFirstOrThrow();
  const from = slot - hours * hourMs;
  const title = `${period === "daily" ? "Daily" : "Weekly"} digest until ${new Date(slot).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const sections = [
    { title: "Totals", lines: describeSums(figures, period) },
    { title: "Top accounts", lines: describeTop(figures.accounts, nameOf) },
    { title: "Top models", lines: describeTop(figures.models, nameOfModel) },
    {
      title: "Movers",
      lines: describeMovers([
        ...figures.accounts.map((group) => ({ ...group, name: nameOf(group.id) })),
        ...figures.models.map((group) => ({ ...group, name: nameOfModel(group.id) })),
      ]),
    },
    { title: "Running out", lines: await describeRunningOut(store, figures, nameOf, now) },
    {
      title: "Failing providers",
      lines: failing.slice(0, listedMax).map(({ provider, reason }) => `${provider}: ${toName(reason ?? "failing")}`),
    },
    { title: "Alerts", lines: Number(firing.count) === 0 ? [] : [`${firing.count} firing`] },
  ].filter(({ lines }) => lines.length > 0);
  const text = [title, ...sections.flatMap((part) => [`${part.title}:`, ...part.lines.map((line) => `• ${line}`)])];
  const times = { from: new Date(from).toISOString(), until: new Date(slot).toISOString() };
  text.push(`Sent to ${toName(channel.name)}`);
  const digest = { period, ...times, title, channel, sections, link: toLink(config.publicUrl, "/") };
  // One id for each time of a channel: it is queued once even if the channel is set to this time again.
  return { id: `digest_${channel.id}_${slot / hourMs}`, type: "digest", text: text.join("\n"), alerts: [], digest };
}

function describeSums({ current, before }: DigestFigures, period: DigestPeriod): string[] {
  const than = period === "daily" ? "day before" : "week before";
  const line = (name: string, value: string, old: number, sum: number) =>
    `${name}: ${value} (${compare(sum, old)} ${than})`;
  return [
    line("Spend", toDollars(current.spendNanodollars), before.spendNanodollars, current.spendNanodollars),
    line("Requests", String(current.requests), before.requests, current.requests),
    line("Errors", String(current.errors), before.errors, current.errors),
  ];
}

function compare(value: number, before: number): string {
  if (before === 0) return value === 0 ? "as the" : "none the";
  const percent = Math.round(((value - before) / before) * 100);
  return percent === 0 ? "as the" : `${percent > 0 ? "+" : "−"}${Math.abs(percent)} % to the`;
}

function describeTop(groups: readonly SpendChange[], nameOf: (id: string) => string): string[] {
  return groups
    .filter(({ spendNanodollars }) => spendNanodollars > 0)
    .sort((one, other) => other.spendNanodollars - one.spendNanodollars)
    .slice(0, listedMax)
    .map(({ id, spendNanodollars }) => `${nameOf(id)}: ${toDollars(spendNanodollars)}`);
}

function describeMovers(groups: readonly (SpendChange & { readonly name: string })[]): string[] {
  return pickMovers(groups, listedMax).map(({ name, beforeNanodollars, spendNanodollars }) => {
    return `${name}: ${toDollars(beforeNanodollars)} → ${toDollars(spendNanodollars)}`;
  });
}

async function describeRunningOut(
  store: Store,
  { wallets }: DigestFigures,
  nameOf: (id: string) => string,
  now: number,
): Promise<string[]> {
  const budgets = await readSpentBudgets(store, now, { leastShare: budgetShare, limit: listedMax });
  const keys = await listExpiringKeys(store, { now, days: expiryDays, limit: listedMax });
  return [
    ...wallets.map(({ accountId, balanceNanodollars, daysLeft }) => {
      return `Wallet of ${nameOf(accountId)}: ${toDollars(balanceNanodollars)}, ${daysLeft} days`;
    }),
    ...budgets
      .filter(({ budgetNanodollars }) => budgetNanodollars > 0)
      .map(({ subject, name, account, spentNanodollars: spent, budgetNanodollars: budget }) => {
        const whose = name === "" ? toName(account) : `“${toName(name)}” of ${toName(account)}`;
        return `Budget of the ${subject.replace("_", " ")} ${whose}: ${toDollars(spent)} of ${toDollars(budget)}`;
      }),
    ...keys.map(({ name, expiresAt }) => {
      return `API key “${toName(name)}” expires on ${new Date(expiresAt).toISOString().slice(0, 10)}`;
    }),
  ];
}
