import { randomBelow } from "../../support/random.ts";
import { until } from "../../support/until.ts";
import { Callers } from "./callers.ts";
import type { Allowance, Fault } from "./faults.ts";
import { Fleet, type Payer, patienceMs, places } from "./fleet.ts";
import { findUnsettled, judge, readCalls } from "./judge.ts";

/** What came of two faults. */
export interface Outcome {
  /** What was not as it should be: nothing, where all is right. */
  readonly broken: readonly string[];
  readonly calls: number;
  readonly delivered: number;
  /** Calls that got 401 or 5xx. */
  readonly refused: number;
  /** Calls that money or a limit refused. */
  readonly limited: number;
  readonly charged: number;
  /** How often readiness was compared with refusals. */
  readonly comparisons: number;
  /** From when all was mended until all gateways served. */
  readonly backSeconds: number;
  /** What the gateways logged, for who looks into a failure. */
  readonly log: readonly string[];
}

/** The faults as `--faults` names them. */
export const namesOf = (struck: readonly Fault[]) => struck.map(({ name }) => name).join(",");

/** How a pair is tried again. */
export function toCommand(seed: number, struck: readonly Fault[]): string {
  return `npx bun run simulate --seed ${seed} --faults ${namesOf(struck)} --pairs 1`;
}

/** A line for a pair, and what broke in lines below it. */
export function toLine(seed: number, struck: readonly Fault[], outcome: Outcome): string {
  const { calls, delivered, refused, limited, charged, backSeconds, broken, log } = outcome;
  const names = struck.map(({ name }) => name).join(" + ");
  const figures = `${calls} calls, ${delivered} delivered, ${refused} refused, ${limited} limited, ${charged} charged`;
  const verdict = broken.length === 0 ? "ok" : `FAILED, again by: ${toCommand(seed, struck)}`;
  const line = `seed ${seed}: ${names}: ${figures}, served ${backSeconds.toFixed(1)} s after mending: ${verdict}`;
  return [line, ...(broken.length === 0 ? [] : [...broken, ...log.map((each) => `log: ${each}`)])].join("\n    ");
}

/** Delivered answers before the first fault and after the last, so that there is something to lose and to compare. */
const deliveredMin = { before: 25, after: 40 };
const startMsMax = 1500;
const lastsMsDefault = [1000, 5000] as const;

/** Starts a fleet, makes faults, usually two, under traffic at times that the seed draws, mends them, and judges. */
export async function simulateFaults(
  struck: readonly Fault[],
  seed: number,
  { before, after }: typeof deliveredMin = deliveredMin,
): Promise<Outcome> {
  const below = randomBelow(seed);
  const allows: Allowance = Object.assign({}, ...struck.map((fault) => fault.allows));
  const fleet = await Fleet.start({ hasStandby: struck.some(({ needsStandby }) => needsStandby === true) });
  const callers = new Callers(fleet, { comparesReadiness: allows.failedAttempts === undefined });
  const broken: string[] = [];
  const expectSoon = async (what: string, isSo: () => boolean | Promise<boolean>) => {
    await until(isSo, patienceMs, 200).catch(() => void broken.push(`Not within ${patienceMs / 1000} s: ${what}`));
  };
  const deliveredSince = (sinceMs: number) =>
    callers.calls.filter(({ isDelivered, begunMs }) => isDelivered && begunMs >= sinceMs).length;
  const newcomers = new Newcomers(fleet, callers);
  try {
    const [rich] = fleet.payers as [Payer];
    callers.start([...fleet.payers, rich]);
    await expectSoon("calls are answered before the first fault", () => deliveredSince(0) >= before);
    if (allows.lostCommits) {
      await fleet.makeBackup();
      await newcomers.comeEarly();
    }
    await Promise.all(
      struck.map(async (fault) => {
        const [place, startMs] = [below(places), below(startMsMax)];
        const [least, most] = fault.lastsMs ?? lastsMsDefault;
        const lastsMs = least + below(most - least);
        await Bun.sleep(startMs);
        await fault.strike(fleet, place);
        // In the lag of a standby that will be promoted.
        if (fault.needsStandby && fault.allows?.lostCommits) await newcomers.comeEarly().catch(() => undefined);
        if (fault.mend === undefined) return;
        await Bun.sleep(lastsMs);
        await fault.mend(fleet, place);
      }),
    );
    const mendedMs = performance.now();
    for (let place = 0; place < places; place++) {
      await expectSoon(`gateway ${place} serves`, async () => (await callers.call(rich, place)).isDelivered);
      await expectSoon(`gateway ${place} is ready`, async () => {
        const origin = fleet.gateways[place]?.origin;
        return (await fetch(`${origin}/readyz`).catch(() => undefined))?.status === 200;
      });
    }
    const backSeconds = (performance.now() - mendedMs) / 1000;
    if (allows.lostCommits) broken.push(...(await newcomers.comeLate()));
    const servedMs = performance.now();
    await expectSoon("calls are answered after all is mended", () => deliveredSince(servedMs) >= after);
    await expectSoon("no gateway is connected to a server that takes no writes", () => fleet.isAtPrimary);
    await callers.stop();
    const evidence = { fleet, callers, allows, mendedMs, lostAccounts: newcomers.lost };
    const { broken: wrong, charged } = await fleet.withStore(async (store) => {
      await expectSoon("no call is open", async () => {
        const open = await store.db.selectFrom("open_calls").select("id").limit(1).execute();
        return open.length === 0;
      });
      await expectSoon("delivered calls are charged", async () => {
        return findUnsettled(await readCalls(store), evidence).length === 0;
      });
      return await judge(store, evidence);
    });
    broken.push(...wrong);
    const countOf = (isSo: (status: number) => boolean) => callers.calls.filter(({ status }) => isSo(status)).length;
    const limited = countOf((status) => status === 403 || status === 429);
    const refused = countOf((status) => status >= 400) - limited;
    const [calls, delivered] = [callers.calls.length, deliveredSince(0)];
    const log = broken.length === 0 ? [] : fleet.gateways.flatMap((_, place) => fleet.logOf(place));
    return { broken, calls, delivered, refused, limited, charged, comparisons: callers.comparisons, backSeconds, log };
  } finally {
    await callers.stop();
    await fleet.remove();
  }
}

/**
 * Accounts without money that come shortly before the database goes back in time, and others with some that come after it. What the
 * former ask for then must not be paid by the latter.
 */
class Newcomers {
  readonly #fleet: Fleet;
  readonly #callers: Callers;
  readonly #early: Payer[] = [];

  constructor(fleet: Fleet, callers: Callers) {
    this.#fleet = fleet;
    this.#callers = callers;
  }

  get lost(): ReadonlySet<string> {
    return new Set(this.#early.map(({ accountId }) => accountId));
  }

  async comeEarly(): Promise<void> {
    const name = `early ${this.#early.length}`;
    const model = "famA-4.1-nano";
    const payer = await this.#fleet.withStore((store) => this.#fleet.makePayer(store, { name, model }));
    this.#early.push(payer);
    for (let place = 0; place < places; place++) await this.#callers.call(payer, place);
    // They go on asking: a gateway has a batch of theirs at the moment at which the database goes back.
    this.#callers.start([payer]);
  }

  async comeLate(): Promise<string[]> {
    const late = await this.#fleet.withStore((store) =>
      this.#fleet.makePayer(store, { name: "late", nanodollars: 1_000_000_000 }),
    );
    const broken: string[] = [];
    for (let place = 0; place < places; place++) {
      for (const payer of this.#early) {
        const { isDelivered } = await this.#callers.call({ ...payer, model: late.model }, place);
        if (isDelivered) broken.push(`${payer.name}, who has no money, was served`);
      }
      await this.#callers.call(late, place);
    }
    return broken;
  }
}
