import { accountLabel } from "../../contract/index.ts";
import type { Store } from "../../db/index.ts";
import { describeEffect, listReroutes, type ProviderDescription, type Served } from "../../providers/index.ts";
import { type ProviderCalls, readFailedMinutes, readProviderCalls } from "../../reports/index.ts";
import { findAccounts } from "../../tenants/index.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const accountsMax = 5;
/** Failures further apart than this are two outages. */
const gapMs = 900_000;
/** Calls have their times rounded. */
const roundingMs = 1000;
/** Models that a text for customers names. */
const namedMax = 8;

type Incident = Awaited<ReturnType<typeof readIncident>>;

interface IncidentSource {
  readonly store: Pick<Store, "db" | "shared">;
  readonly now: number;
  /** The name of a model for people. */
  nameOf(model: string): string;
  /** The models that are served now; absent: not known. */
  readonly served: Served | undefined;
}

/**
 * Reads what there is to know of a provider that fails: since when, who is hit, what clients were answered, and which models
 * have no other route. Of a provider that works again it is about its last outage, if that ended in the last hour.
 *
 * @param all All providers: others may serve the same models.
 */
export async function readIncident(
  { store, now, nameOf, served }: IncidentSource,
  provider: ProviderDescription,
  all: readonly ProviderDescription[],
) {
  const { name, health, enabled } = provider;
  const since = toMs(health.since);
  const isOver = health.state === "working" && health.failing_since === null;
  const { seenFrom, minutes } = await readFailedMinutes(store, { plugin: name, from: now - dayMs });
  const outage =
    since === undefined
      ? findLatestOutage(minutes, now - hourMs)
      : minutes.filter(({ last }) => last >= since - roundingMs);
  const began = since !== undefined && since < seenFrom ? since : outage[0]?.first;
  const countedFrom = Math.max(seenFrom, began ?? since ?? now - hourMs);
  const countedUntil = isOver ? outage.at(-1)?.last : undefined;
  const [calls, lastHour, stored] = await Promise.all([
    readProviderCalls(store, { plugin: name, from: countedFrom, to: countedUntil }),
    readProviderCalls(store, { plugin: name, from: now - hourMs }),
    listReroutes(store, now),
  ]);
  const accounts = calls.accounts.slice(0, accountsMax);
  const holders = await findAccounts(
    store,
    accounts.map(({ accountId }) => accountId),
  );
  const models = provider.routes.map(({ model }) => {
    const others = all.filter((other) => other.name !== name && other.routes.some((route) => route.model === model));
    const figures = calls.byModel.get(model) ?? { calls: 0, failed: 0 };
    return { id: model, name: nameOf(model), others: others.map((other) => other.name), ...figures };
  });
  models.sort((one, other) => other.failed - one.failed || other.calls - one.calls || (one.name < other.name ? -1 : 1));
  const ids = new Set([...models.map(({ id }) => id), ...calls.byModel.keys()]);
  const reroutes = stored
    .filter((one) => (one.subject === "provider" ? one.name === name : ids.has(one.name)))
    .map((reroute) => {
      const { id, subject, name: about, to_model: to, ends_at: endsAt } = reroute;
      return {
        id,
        subject,
        name: subject === "model" ? nameOf(about) : about,
        to_model: to === null ? null : nameOf(to),
        ends_at: endsAt,
        ...describeEffect(reroute, stored, served),
      };
    });
  return {
    provider: name,
    enabled,
    state: health.state,
    reason: health.reason,
    since,
    failingSince: toMs(health.failing_since),
    lastSuccessAt: toMs(health.last_success_at),
    recent: health.recent,
    lastError: health.last_error,
    countedFrom,
    countedUntil,
    calls: calls.calls,
    failed: calls.failed,
    refused: calls.refused,
    callsOfLastHour: lastHour.calls - lastHour.refused,
    accountCount: calls.accounts.length,
    accounts: accounts.map(({ accountId, ...figures }) => {
      const holder = holders.get(accountId);
      return { id: accountId, label: holder === undefined ? accountId : accountLabel(holder), ...figures };
    }),
    answers: calls.answers,
    models,
    reroutes,
    text: toText({
      calls,
      models,
      reroutes: reroutes.filter(({ is_effective: isEffective }) => isEffective !== false),
      enabled,
      nameOf,
      began: began ?? countedFrom,
      countedFrom,
      until: countedUntil,
    }),
  };
}

/** The minutes of the failures up to the last one, if that was after a time. */
function findLatestOutage<Minute extends { readonly first: number; readonly last: number }>(
  minutes: readonly Minute[],
  after: number,
): readonly Minute[] {
  if ((minutes.at(-1)?.last ?? 0) < after) return [];
  const start = minutes.findLastIndex(({ first }, index) => first - (minutes[index - 1]?.last ?? 0) > gapMs);
  return minutes.slice(start);
}

interface TextFacts {
  readonly calls: ProviderCalls;
  readonly models: readonly { readonly id: string; readonly others: readonly string[] }[];
  readonly reroutes: readonly { readonly to_model: string | null; readonly ends_at: number | null }[];
  readonly enabled: boolean;
  /** The first failure. */
  readonly began: number;
  readonly countedFrom: number;
  /** The last failure of a provider that works again. */
  readonly until: number | undefined;
  nameOf(model: string): string;
}

/** A text for customers, made from the figures; `null` where no request failed. It does not name the provider. */
function toText({ calls, models, reroutes, enabled, nameOf, ...times }: TextFacts): string | null {
  if (calls.failed === 0) return null;
  const hit = [...calls.byModel].filter(([, { failed }]) => failed > 0).sort(([, a], [, b]) => b.failed - a.failed);
  const names = hit.map(([model]) => nameOf(model));
  const rest = names.length - namedMax;
  const listed = names.slice(0, namedMax).join(", ") + (rest > 0 ? ` and ${rest} more models` : "");
  const total = hit.reduce((sum, [, figures]) => sum + figures.calls, 0);
  const share = Math.round((calls.failed / total) * 100);
  const figures = { count: `${calls.failed} of ${total}`, share: `(${share < 1 ? "less than 1" : share} %)` };
  const sentences = [tellWhen(times, `requests to ${listed}`, figures)];
  for (const { to_model: to, ends_at: endsAt } of reroutes) {
    const until = endsAt === null ? "For the time being" : `Until ${toUtc(endsAt)}`;
    sentences.push(
      to === null ? `${until}, requests go to another provider.` : `${until}, ${to} answers in their place.`,
    );
  }
  if (!enabled) sentences.push("We have taken the provider out of service.");
  const hasOthers = hit.every(([model]) => models.find(({ id }) => id === model)?.others.length);
  if (reroutes.length === 0 && hasOthers && times.until === undefined)
    sentences.push("Where a request fails, another provider is tried.");
  sentences.push("Requests that failed can be sent again.");
  return sentences.join(" ");
}

function tellWhen(
  { began, countedFrom, until }: Pick<TextFacts, "began" | "countedFrom" | "until">,
  requests: string,
  { count, share }: { readonly count: string; readonly share: string },
): string {
  if (until !== undefined) {
    const [from, to] = [toUtc(began), toUtc(until)];
    const [day = "", time = ""] = to.split(/ (.*)/);
    const span = from === to ? `At ${to}` : `From ${from.replace(" UTC", "")} to ${from.startsWith(day) ? time : to}`;
    return `${span}, ${requests} failed: ${count} ${share}. They work again.`;
  }
  const start = `Since ${toUtc(began)}, ${requests} have been failing`;
  const figures = `${count} requests ${share} failed`;
  return countedFrom > began ? `${start}. Since ${toUtc(countedFrom)}, ${figures}.` : `${start}: ${figures}.`;
}

function toUtc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function toMs(time: string | null): number | undefined {
  return time === null ? undefined : Date.parse(time);
}

/** The incident in JSON, as the API and the command print it. */
export function toIncidentObject(incident: Incident, seesUsage = true) {
  const { lastError: error } = incident;
  const toCalls = ({ calls, failed }: { calls: number; failed: number }) => ({ calls, failed_calls: failed });
  const toMoment = (at: number | null | undefined) => (at == null ? null : toSeconds(at));
  return {
    id: incident.provider,
    object: "organization.provider.incident" as const,
    enabled: incident.enabled,
    state: incident.state,
    reason: incident.reason,
    since: toMoment(incident.since),
    failing_since: toMoment(incident.failingSince),
    last_success_at: toMoment(incident.lastSuccessAt),
    recent_attempts: incident.recent,
    last_error: error && {
      at: toSeconds(Date.parse(error.at)),
      status: error.status,
      message: error.message,
      model: error.model,
    },
    counted_from: toSeconds(incident.countedFrom),
    counted_until: toMoment(incident.countedUntil),
    ...toCalls(incident),
    refused_calls: incident.refused,
    calls_of_last_hour: incident.callsOfLastHour,
    project_count: seesUsage ? incident.accountCount : null,
    projects: seesUsage
      ? incident.accounts.map(({ id, label, ...figures }) => ({ project_id: id, name: label, ...toCalls(figures) }))
      : null,
    answers: incident.answers.map((answer) => ({ ...answer })),
    models: incident.models.map(({ id, name, others, ...figures }) => ({
      id,
      name,
      ...toCalls(figures),
      other_providers: others,
    })),
    reroutes: incident.reroutes.map(({ ends_at, ...reroute }) => ({ ...reroute, ends_at: toMoment(ends_at) })),
    customer_text: incident.text,
  };
}

function toSeconds(at: number): number {
  return Math.floor(at / 1000);
}
