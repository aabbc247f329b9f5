import type { UpstreamErrorKind } from "../contract/index.ts";
import type { Store } from "../db/index.ts";

/**
 * The health of providers, from the results of attempts and tests: the number of failures in each slot of five minutes,
 * and the last success, error and test of each provider and key. It is counted in memory and written every few seconds.
 * So it survives a restart, and gateways that share a database see the same health.
 */

/** From worst to best: states that need attention come first. */
export const healthStates = [
  /** It refuses the key, or each of its keys. */
  "refused",
  /** At least half of its attempts fail, or its last test did. */
  "failing",
  /** A part of its attempts fails, or a part of its keys or routes is out of use. */
  "degraded",
  /** Nothing happened in the last 24 hours. */
  "unknown",
  /** Its attempts succeed. */
  "working",
] as const;
export type HealthState = (typeof healthStates)[number];

/** Why an attempt failed. */
export interface Failure {
  readonly kind: UpstreamErrorKind | "plugin_failed";
  /** The provider's HTTP status; absent: it sent none. */
  readonly status?: number | undefined;
  /** The provider's own message if it sent one, without keys: for administrators. */
  readonly message: string;
  readonly model: string;
}

/** A test of the connection. */
export interface TestOutcome {
  readonly isOk: boolean;
  /** Absent where the models were listed instead. */
  readonly model?: string | undefined;
  readonly ms: number;
  readonly error?: string | undefined;
  /** A hint although it works: models that are gone. */
  readonly note?: string | undefined;
  /** The kind of the error. */
  readonly kind?: UpstreamErrorKind | undefined;
}

type At<T> = T & { /** Milliseconds since 1970. */ readonly at: number };

/** When the current failures began: the first failure that no success followed. Milliseconds since 1970. */
interface Run {
  /** The first failure of any kind. */
  readonly since?: number | undefined;
  /** The first refusal of the key; absent where none was a refusal. */
  readonly refusedSince?: number | undefined;
}

/** The successes since the last failure. */
interface Successes {
  /** Their number; 0: an attempt has failed since. */
  readonly run: number;
  /** One of them was the probe of a paused route. */
  readonly hasProbed?: true | undefined;
}

/** Last outcomes of a provider or a key. */
export interface LastOutcomes {
  readonly success?: At<Successes> | undefined;
  readonly error?: At<Failure & Run> | undefined;
  readonly test?: At<TestOutcome & Run> | undefined;
}

/** The attempts of a time. */
export interface AttemptCount {
  readonly attempts: number;
  readonly errors: number;
}

export interface Health {
  readonly state: HealthState;
  /** One message without the provider's words; absent where it works or nothing is known. */
  readonly reason: string | undefined;
  /** When the state began: the first of its failures, milliseconds since 1970. Absent where it works or nothing is known. */
  readonly since: number | undefined;
}

/** The circuits of a provider now. */
export interface Circuits {
  readonly routes: number;
  /** Routes that take no call. */
  readonly pausedRoutes: number;
  /** Routes whose pause is over: the next call tries them. */
  readonly waitingRoutes: number;
}

const slotMs = 300_000;
const dayMs = 86_400_000;
/** The state is decided by the latest slots with attempts: a quarter of an hour. */
const recentSlots = 3;
const slotsPerDay = dayMs / slotMs;
/** Bars of the strip: half an hour each. */
const stripBars = 48;
const slotsPerBar = slotsPerDay / stripBars;
const failingShare = 0.5;
const degradedShare = 0.05;
/**
 * After this number of successes in a row a provider is no longer failing, whatever the quarter of an hour says. Few say as much
 * where nothing has failed for a minute: of a provider that fails half of the time they would say little.
 */
const recoveredSuccesses = 20;
const quietSuccesses = 5;
const quietMs = 60_000;
/** A single error says little among many successes. */
const degradedErrorsMin = 2;
const refusing: ReadonlySet<string> = new Set<UpstreamErrorKind>(["auth", "insufficient_quota"]);

interface RecentAttempts extends AttemptCount {
  /** Whether those since the last error show that it works: the probe of a paused route, or many in a row. */
  readonly hasRecovered: boolean;
  /** Whether it works and nothing has failed for a minute. */
  readonly isOver: boolean;
  /** When errors began, milliseconds since 1970; absent: there are hardly any. */
  readonly failingSince: number | undefined;
}

type OutcomeName = keyof LastOutcomes;
type Outcomes = Partial<Record<OutcomeName, At<object>>>;
interface SlotCount {
  attempts: number;
  errors: number;
  /** The first failure of the slot, milliseconds since 1970. */
  firstErrorAt?: number | undefined;
}
/** Attempts and errors by time slot. */
type Counts = Map<number, SlotCount>;

/** The `key` of outcomes that concern a provider as a whole. */
const wholeProvider = "";

/** Counts attempts and keeps the last outcomes. */
export class HealthLog {
  readonly #store: Store;
  readonly #now: () => number;
  /** Counts in the database, by provider; then those not written yet. */
  #counts = new Map<string, Counts>();
  #pendingCounts = new Map<string, Counts>();
  /** Outcomes by provider and key. */
  #outcomes = new Map<string, Outcomes>();
  #pendingOutcomes = new Map<string, Outcomes>();
  #running: Promise<void> = Promise.resolve();
  #prunedAt = 0;

  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /**
   * Records the end of an attempt.
   *
   * @param key The id of its key; absent: no key.
   * @param failure Absent: it succeeded.
   * @param isProbe The success ended a pause of its route.
   */
  record(provider: string, key: string | undefined, failure: Failure | undefined, isProbe = false): void {
    const at = this.#now();
    const count = this.#count(provider, at);
    count.attempts++;
    if (failure !== undefined) addError(count, at);
    if (failure !== undefined) {
      this.#keepFailure(provider, key, { at, ...failure });
      return;
    }
    this.#keepSuccess(toId(provider, wholeProvider), at, isProbe);
    if (key !== undefined) this.#keepSuccess(toId(provider, key), at, isProbe);
  }

  /** An attempt that was counted as a success has failed after all. */
  recordLate(provider: string, key: string | undefined, failure: Failure): void {
    const at = this.#now();
    addError(this.#count(provider, at), at);
    this.#keepFailure(provider, key, { at, ...failure });
  }

  recordTest(provider: string, key: string | undefined, test: TestOutcome): void {
    const at = this.#now();
    const kind = test.kind ?? "bad_response";
    this.#keep(provider, key, (last) => ({ test: { at, ...test, ...(!test.isOk && goOn(last(), kind, at)) } }));
  }

  /** @param key Absent: of the provider as a whole. */
  last(provider: string, key: string = wholeProvider): LastOutcomes {
    const id = toId(provider, key);
    return { ...this.#outcomes.get(id), ...this.#pendingOutcomes.get(id) } as LastOutcomes;
  }

  /** The attempts of the last 24 hours, in bars of half an hour, the oldest first. */
  strip(provider: string): AttemptCount[] {
    const last = Math.floor(this.#now() / slotMs / slotsPerBar);
    const bars = Array.from({ length: stripBars }, () => ({ attempts: 0, errors: 0 }));
    for (const [slot, { attempts, errors }] of this.#all(provider)) {
      const bar = bars[stripBars - 1 - (last - Math.floor(slot / slotsPerBar))];
      if (bar === undefined) continue;
      bar.attempts += attempts;
      bar.errors += errors;
    }
    return bars.map(({ attempts, errors }) => ({ attempts, errors: Math.min(attempts, errors) }));
  }

  /** The attempts of the latest quarter of an hour with attempts, and since when a relevant share of them failed. */
  recent(provider: string): RecentAttempts {
    const slots = [...this.#all(provider)].sort(([one], [other]) => other - one);
    const [latest] = slots[0] ?? [0];
    const isOld = latest < Math.floor(this.#now() / slotMs) - slotsPerDay;
    const sum = { attempts: 0, errors: 0 };
    for (const [slot, { attempts, errors }] of isOld ? [] : slots) {
      if (slot <= latest - recentSlots) break;
      sum.attempts += attempts;
      sum.errors += errors;
    }
    sum.errors = Math.min(sum.errors, sum.attempts);
    let failingSince: number | undefined;
    for (const [slot, { attempts, errors, firstErrorAt }] of isOld ? [] : slots) {
      const isFailing = errors > 0 && errors >= attempts * degradedShare;
      if (isFailing) failingSince = firstErrorAt ?? slot * slotMs;
      // The latest slots are one: errors in the first of them are in the sum.
      else if (failingSince !== undefined || slot <= latest - recentSlots) break;
    }
    return { ...sum, ...this.#readRecovery(provider), failingSince };
  }

  #readRecovery(provider: string): Pick<RecentAttempts, "hasRecovered" | "isOver"> {
    const last = this.last(provider);
    const isQuiet = this.#now() - (last.error?.at ?? 0) >= quietMs;
    const { run, hasProbed }: Successes = isUnbroken(last) ? last.success : { run: 0 };
    const isProven = hasProbed === true || run >= recoveredSuccesses;
    return { hasRecovered: isProven || (isQuiet && run >= quietSuccesses), isOver: isProven && isQuiet };
  }

  /** Reads the counts and outcomes that all gateways have written. */
  async read(): Promise<void> {
    const { db } = this.#store;
    const from = Math.floor(this.#now() / slotMs) - slotsPerDay;
    const outcomes = await db.selectFrom("provider_outcomes").selectAll().execute();
    const rows = await db.selectFrom("provider_attempts").selectAll().where("slot", ">", from).execute();
    this.#outcomes = new Map();
    for (const { provider, key_id: key, outcome, at, detail } of outcomes) {
      const outcomeBefore = this.#outcomes.get(toId(provider, key)) ?? {};
      outcomeBefore[outcome] = { ...(JSON.parse(detail) as object), at };
      this.#outcomes.set(toId(provider, key), outcomeBefore);
    }
    this.#counts = new Map();
    for (const { provider, slot, attempts, errors, first_error_at: at } of rows) {
      const firstErrorAt = at ?? undefined;
      getOrCreate(this.#counts, provider, () => new Map()).set(slot, { attempts, errors, firstErrorAt });
    }
  }

  /**
   * Writes the counts and outcomes since the last time and, in a shared database, reads those written by other
   * gateways.
   *
   * @param options.readsAll Reads what other processes have written to a database that is not shared, too.
   */
  sync({ readsAll = this.#store.shared }: { readonly readsAll?: boolean } = {}): Promise<void> {
    this.#running = this.#running.then(() => this.#sync(readsAll));
    const done = this.#running;
    this.#running = done.catch(() => undefined);
    return done;
  }

  async #sync(readsAll: boolean): Promise<void> {
    await this.#flush();
    await this.#prune();
    if (readsAll) await this.read();
  }

  async #flush(): Promise<void> {
    const [counts, outcomes] = [this.#pendingCounts, this.#pendingOutcomes];
    if (counts.size === 0 && outcomes.size === 0) return;
    this.#pendingCounts = new Map();
    this.#pendingOutcomes = new Map();
    // Counts them as written now: otherwise they would be missing from the state during the write.
    this.#merge(counts, outcomes);
    try {
      await this.#write(counts, outcomes);
    } catch (error) {
      this.#unmerge(counts, outcomes);
      throw error;
    }
  }

  #merge(counts: Map<string, Counts>, outcomes: Map<string, Outcomes>): void {
    for (const [provider, slots] of counts) {
      for (const [slot, count] of slots) add(this.#counts, [provider, slot], count, 1);
    }
    for (const [id, one] of outcomes) this.#outcomes.set(id, { ...this.#outcomes.get(id), ...one });
  }

  #unmerge(counts: Map<string, Counts>, outcomes: Map<string, Outcomes>): void {
    for (const [provider, slots] of counts) {
      for (const [slot, count] of slots) {
        add(this.#counts, [provider, slot], count, -1);
        add(this.#pendingCounts, [provider, slot], count, 1);
      }
    }
    for (const [id, one] of outcomes) this.#pendingOutcomes.set(id, { ...one, ...this.#pendingOutcomes.get(id) });
  }

  async #write(counts: Map<string, Counts>, outcomes: Map<string, Outcomes>): Promise<void> {
    // Sorted the same way on all nodes: otherwise they could deadlock.
    const attempts = [...counts]
      .flatMap(([provider, slots]) => [...slots].map(([slot, count]) => toRow(provider, slot, count)))
      .sort((one, other) =>
        one.provider === other.provider ? one.slot - other.slot : one.provider < other.provider ? -1 : 1,
      );
    const rows = [...outcomes].sort(([one], [other]) => (one < other ? -1 : 1)).flatMap(([id, one]) => toRows(id, one));
    await this.#store.db.transaction().execute(async (transaction) => {
      for (const row of attempts) {
        await transaction
          .insertInto("provider_attempts")
          .values(row)
          .onConflict((conflict) =>
            conflict.columns(["provider", "slot"]).doUpdateSet(({ eb }) => ({
              attempts: eb("provider_attempts.attempts", "+", row.attempts),
              errors: eb("provider_attempts.errors", "+", row.errors),
              first_error_at:
                row.first_error_at === null
                  ? eb.ref("provider_attempts.first_error_at")
                  : eb
                      .case()
                      .when("provider_attempts.first_error_at", "<", row.first_error_at)
                      .then(eb.ref("provider_attempts.first_error_at"))
                      .else(row.first_error_at)
                      .end(),
            })),
          )
          .execute();
      }
      for (const row of rows) {
        const { at, detail } = row;
        await transaction
          .insertInto("provider_outcomes")
          .values(row)
          .onConflict((conflict) =>
            conflict
              .columns(["provider", "key_id", "outcome"])
              .doUpdateSet({ at, detail })
              .where("provider_outcomes.at", "<=", at),
          )
          .execute();
      }
    });
  }

  async #prune(): Promise<void> {
    const now = this.#now();
    if (now - this.#prunedAt < dayMs / 24) return;
    this.#prunedAt = now;
    const before = Math.floor(now / slotMs) - slotsPerDay;
    for (const slots of this.#counts.values()) {
      for (const slot of slots.keys()) if (slot <= before) slots.delete(slot);
    }
    await this.#store.db.deleteFrom("provider_attempts").where("slot", "<=", before).execute();
    await this.#store.db
      .deleteFrom("provider_outcomes")
      .where("at", "<", now - 30 * dayMs)
      .execute();
  }

  #count(provider: string, at: number): SlotCount {
    const slots = getOrCreate(this.#pendingCounts, provider, () => new Map());
    return getOrCreate(slots, Math.floor(at / slotMs), () => ({ attempts: 0, errors: 0 }));
  }

  #keep(provider: string, key: string | undefined, toOutcomes: (last: () => LastOutcomes) => Outcomes): void {
    for (const one of key === undefined ? [wholeProvider] : [wholeProvider, key]) {
      const outcomes = toOutcomes(() => this.last(provider, one));
      Object.assign(
        getOrCreate(this.#pendingOutcomes, toId(provider, one), () => ({})),
        outcomes,
      );
    }
  }

  /** Every call that goes well comes here, so it makes no copies of the outcomes. */
  #keepSuccess(id: string, at: number, isProbe: boolean): void {
    const pending: LastOutcomes & { success?: At<Successes> } = getOrCreate(this.#pendingOutcomes, id, () => ({}));
    const written = this.#outcomes.get(id) as LastOutcomes | undefined;
    const error = pending.error ?? written?.error;
    const success = pending.success ?? written?.success;
    const before = isUnbroken({ success, error }) ? success : undefined;
    const run = (before?.run ?? 0) + 1;
    pending.success = isProbe || before?.hasProbed ? { at, run, hasProbed: true } : { at, run };
  }

  /** Keeps a failure, and ends the run of successes before it. */
  #keepFailure(provider: string, key: string | undefined, failure: At<Failure>): void {
    this.#keep(provider, key, (last) => {
      const outcomes = last();
      const { success } = outcomes;
      return {
        error: { ...failure, ...goOn(outcomes, failure.kind, failure.at) },
        ...(success !== undefined && { success: { at: success.at, run: 0 } }),
      };
    });
  }

  #all(provider: string): Counts {
    const all: Counts = new Map();
    for (const counts of [this.#counts, this.#pendingCounts]) {
      for (const [slot, count] of counts.get(provider) ?? []) {
        const slotCounts: SlotCount = getOrCreate(all, slot, () => ({ attempts: 0, errors: 0 }));
        slotCounts.attempts += count.attempts;
        slotCounts.errors += count.errors;
        slotCounts.firstErrorAt = earlier(slotCounts.firstErrorAt, count.firstErrorAt);
      }
    }
    return all;
  }
}

/** The state of one key. */
export function keyHealth(last: LastOutcomes, isPaused: boolean, now: number): Health {
  const { error, at } = latest(last, now);
  if (at === undefined) return isPaused ? degraded("The key is paused", undefined) : unknown;
  if (error !== undefined && refusing.has(error.kind)) {
    const reason = `The provider refused the key${formatStatus(error)}`;
    return { state: "refused", reason, since: error.refusedSince ?? error.at };
  }
  if (isPaused) return degraded("The key is paused: its provider limits it", failingSinceOf(last) ?? error?.at);
  return working;
}

/** Facts that decide the state of a provider. */
interface ProviderFacts {
  readonly last: LastOutcomes;
  readonly recent: RecentAttempts;
  readonly keys: readonly Health[];
  readonly circuits: Circuits;
  readonly now: number;
}

/** The state of a provider: the worst of its keys, routes, attempts and last test. */
export function providerHealth({ last, recent, keys, circuits, now }: ProviderFacts): Health {
  const refused = keys.filter(({ state }) => state === "refused");
  if (keys.length > 0 && refused.length === keys.length) {
    const reason = keys.length === 1 ? refused[0]?.reason : `The provider refused all ${keys.length} keys`;
    return { state: "refused", reason, since: earliest(refused) };
  }
  const { routes, pausedRoutes, waitingRoutes } = circuits;
  const { attempts, errors, hasRecovered, isOver, failingSince } = recent;
  const { test } = last;
  // A route may be paused after failures that the latest quarter of an hour does not have.
  const since = failingSince ?? failingSinceOf(last) ?? last.error?.at;
  const isTestKnown = test !== undefined && now - test.at <= dayMs;
  const isTestLatest = isTestKnown && test.at >= Math.max(last.success?.at ?? 0, last.error?.at ?? 0);
  const counted = `${errors} of the latest ${attempts} attempts failed`;
  if (routes > 0 && pausedRoutes + waitingRoutes === routes) {
    const where = pausedRoutes > 0 ? "its routes are paused" : "the next call tries it again";
    const failures = attempts > 0 && errors > 0 ? counted : "Attempts failed";
    return { state: "failing", reason: `${failures}; ${where}`, since };
  }
  if (isTestLatest && !test.isOk)
    return { state: "failing", reason: "The last test failed", since: test.since ?? test.at };
  // A test that succeeded after the failures says more than they do.
  const isTested = isTestKnown && test.isOk && test.at >= (last.error?.at ?? 0);
  if (!isTested && !hasRecovered && errors > 0 && errors >= attempts * failingShare)
    return { state: "failing", reason: counted, since };
  if (refused.length > 0) {
    return degraded(`The provider refused ${refused.length} of ${keys.length} keys`, earliest(refused));
  }
  if (pausedRoutes > 0)
    return degraded(`${pausedRoutes} of ${routes} routes ${areOf(pausedRoutes)} paused after failures`, since);
  if (waitingRoutes > 0)
    return degraded(`The next call tries ${waitingRoutes} of ${routes} routes again after failures`, since);
  if (!isTested && !isOver && errors >= degradedErrorsMin && errors >= attempts * degradedShare)
    return degraded(counted, since);
  if (attempts > 0 || isTestLatest || latest(last, now).at !== undefined) return working;
  return unknown;
}

/** Since when all attempts have failed; `undefined` when the last one did not. */
export function failingSinceOf({ success, error, test }: LastOutcomes): number | undefined {
  const succeededAt = Math.max(success?.at ?? 0, test?.isOk === true ? test.at : 0);
  return error !== undefined && error.at > succeededAt ? error.since : undefined;
}

const areOf = (count: number) => (count === 1 ? "is" : "are");

/** Whether no attempt has failed since the last success, at any gateway. */
function isUnbroken(last: LastOutcomes): last is LastOutcomes & { readonly success: At<Successes> } {
  const { success, error } = last;
  return success !== undefined && (error === undefined || error.at <= success.at);
}

function earliest(healths: readonly Health[]): number | undefined {
  const all = healths.flatMap(({ since }) => since ?? []);
  return all.length === 0 ? undefined : Math.min(...all);
}

/** Continues the run of failures since the last success, or begins a run with a failure of this kind. */
function goOn(last: LastOutcomes, kind: string, at: number): Run {
  const { success, error, test } = last;
  const succeededAt = Math.max(success?.at ?? 0, test?.isOk === true ? test.at : 0);
  const failed = test?.isOk === false ? test : undefined;
  const runs = [error, failed].filter((one) => one !== undefined && one.at > succeededAt);
  const first = (own: number | undefined, ...others: (number | undefined)[]) => {
    const all = [own, ...others].filter((one) => one !== undefined);
    return all.length === 0 ? undefined : Math.min(...all);
  };
  return {
    since: first(at, ...runs.map((run) => run?.since)),
    refusedSince: first(refusing.has(kind) ? at : undefined, ...runs.map((run) => run?.refusedSince)),
  };
}

const unknown: Health = { state: "unknown", reason: undefined, since: undefined };
const working: Health = { state: "working", reason: undefined, since: undefined };
const degraded = (reason: string, since: number | undefined): Health => ({ state: "degraded", reason, since });

/** The last thing that happened within a day, and the error if it was one. */
function latest({ success, error, test }: LastOutcomes, now: number) {
  const failed = test !== undefined && !test.isOk ? { ...test, kind: test.kind ?? "bad_response" } : undefined;
  const passed = test?.isOk === true ? test : undefined;
  const all = [
    ...[success, passed].map((one) => one && { at: one.at, error: undefined }),
    ...[error, failed].map((one) => one && { at: one.at, error: one as At<Run & { kind: string; status?: number }> }),
  ];
  const latestOfAll = all.filter((one) => one !== undefined).filter(({ at }) => now - at <= dayMs);
  // An error counts before a success of the same moment.
  return (
    latestOfAll.sort((one, other) => other.at - one.at || (one.error === undefined ? 1 : -1))[0] ?? {
      at: undefined,
      error: undefined,
    }
  );
}

function formatStatus({ kind, status }: { kind: string; status?: number | undefined }): string {
  const why = kind === "insufficient_quota" ? "its account is used up" : undefined;
  const parts = [status, why].filter((part) => part !== undefined);
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}

function toRows(id: string, outcomes: Outcomes) {
  const [provider = "", key_id = ""] = id.split("\n");
  return Object.entries(outcomes).map(([outcome, { at, ...detail }]) => {
    return { provider, key_id, outcome: outcome as OutcomeName, at, detail: JSON.stringify(detail) };
  });
}

function toId(provider: string, key: string): string {
  return `${provider}\n${key}`;
}

function toRow(provider: string, slot: number, { attempts, errors, firstErrorAt }: SlotCount) {
  return { provider, slot, attempts, errors, first_error_at: firstErrorAt ?? null };
}

function addError(count: SlotCount, at: number): void {
  count.errors++;
  count.firstErrorAt = earlier(count.firstErrorAt, at);
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

function add(counts: Map<string, Counts>, [provider, slot]: [string, number], count: SlotCount, sign: 1 | -1): void {
  const slots = getOrCreate(counts, provider, () => new Map());
  const slotCounts: SlotCount = getOrCreate(slots, slot, () => ({ attempts: 0, errors: 0 }));
  // A failure stays the first one, also while its row could not be written.
  slotCounts.firstErrorAt = earlier(slotCounts.firstErrorAt, count.firstErrorAt);
  slotCounts.attempts += sign * count.attempts;
  slotCounts.errors += sign * count.errors;
}

export function getOrCreate<Key, Value>(
  map: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  create: () => Value,
): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = create();
    map.set(key, value);
  }
  return value;
}
