import { fromSeconds } from "../../data/api.ts";
import { formatAge, formatMoment, formatSecond } from "../../format.ts";
import { Fact } from "../../kit/page.tsx";
import { useModelNames } from "../models/api.ts";
import type { ProviderHealth, TestResult } from "./api.ts";

const states: Record<string, readonly [label: string, badge: string]> = {
  working: ["working", "badge is-good"],
  degraded: ["degraded", "badge is-warn"],
  failing: ["failing", "badge is-bad"],
  refused: ["key refused", "badge is-bad"],
  unknown: ["no calls yet", "badge"],
};

/** Facts about the circuits of a provider or route. */
export interface Pause {
  /** Until then it takes no call; `null`: it takes some. */
  readonly until: string | null;
  /** Its pause is over, and the next call tries it. */
  readonly isWaiting: boolean;
}

export function toPause({ paused_until, waiting_routes: waiting }: ProviderHealth): Pause {
  return { until: paused_until === null ? null : fromSeconds(paused_until), isWaiting: waiting > 0 };
}

/** Says how long a pause after failures lasts; `undefined` without a pause. */
export function describePause({ until, isWaiting }: Pause): string | undefined {
  if (until !== null) return `paused until ${formatSecond(until)}`;
  return isWaiting ? "waits for the next call to try it" : undefined;
}

/** The state of a provider or key, from what happened to its calls and tests. One that fails is called paused while it is. */
export function HealthState({ state, pause }: { state: string; pause?: Pause }) {
  const [label, badge] = (state === "failing" && pause && toPausedState(pause)) || (states[state] ?? [state, "badge"]);
  return <span className={badge}>{label}</span>;
}

function toPausedState({ until, isWaiting }: Pause): readonly [label: string, badge: string] | undefined {
  if (until !== null) return ["paused", "badge is-bad"];
  return isWaiting ? ["waiting", "badge is-warn"] : undefined;
}

/** The attempts of 24 hours, a bar for each half an hour: what is red failed. */
export function Strip({ strip }: { strip: ProviderHealth["strip"] }) {
  const attempts = strip.reduce((sum, bar) => sum + bar.attempts, 0);
  const errors = strip.reduce((sum, bar) => sum + bar.errors, 0);
  const label =
    attempts === 0 ? "No calls in the last 24 hours" : `${attempts} calls in the last 24 hours, ${errors} failed`;
  return (
    <span className="strip" role="img" aria-label={label} title={label}>
      {strip.map((bar, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place in time
        <i key={index} className={toTone(bar)} />
      ))}
    </span>
  );
}

function toTone({ attempts, errors }: ProviderHealth["strip"][number]): string | undefined {
  if (attempts === 0) return undefined;
  if (errors >= attempts * 0.5) return "is-bad";
  return errors > 0 && errors >= attempts * 0.05 ? "is-warn" : "is-good";
}

/** The result of a test. */
export function describeTest(
  name: string,
  { ok, error, model, host, ms, note }: TestResult,
  nameOf: (model: string) => string,
): string {
  if (!ok) return `${name} failed: ${error}`;
  const answered = model === null ? `${host} answered in ${ms} ms` : `${host} answered ${nameOf(model)} in ${ms} ms`;
  return `${name} works: ${answered}${note === null ? "" : `. ${note}`}`;
}

/** The last error and the last test, as a list of facts. */
export function HealthFacts({ health }: { health: ProviderHealth }) {
  const { reason, since, last_error: error, last_test: test } = health;
  const pause = describePause(toPause(health));
  const nameOf = useModelNames();
  return (
    <>
      <Fact name="Reason" className="break">
        {reason !== null && (
          <>
            {reason}
            {pause !== undefined && <span className="sub">{pause}</span>}
            {since !== null && <span className="sub">since {formatMoment(fromSeconds(since))}</span>}
          </>
        )}
      </Fact>
      <Fact name="Last error" className="break">
        {error === null ? (
          <span className="soft">none</span>
        ) : (
          <>
            {error.status !== null && `${error.status}: `}
            {error.message}
            <span className="sub">
              {nameOf(error.model)} · {formatAge(fromSeconds(error.at))}
            </span>
          </>
        )}
      </Fact>
      <Fact name="Last test" className="break">
        {test === null ? (
          <span className="soft">none</span>
        ) : (
          <>
            {test.ok ? `worked in ${test.ms} ms` : test.error}
            {test.note !== null && ` ${test.note}`}
            <span className="sub">
              {test.model !== null && `${nameOf(test.model)} · `}
              {formatAge(fromSeconds(test.at))}
            </span>
          </>
        )}
      </Fact>
    </>
  );
}
