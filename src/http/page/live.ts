import { emailsOf } from "../../accounts/index.ts";
import { formatUsd } from "../../contract/index.ts";
import type { RunningCall } from "../../kernel/index.ts";
import { type CallsElsewhere, callsElsewhereMax, type OpenCall } from "../../ledger/index.ts";
import type { HttpDeps } from "../deps.ts";
import { warnThrottled } from "../store-timeout.ts";
import { toIso } from "./serializers.ts";

const shownMax = callsElsewhereMax;
const none: CallsElsewhere = { count: 0, calls: [] };

/**
 * The calls of all processes, the longest running first. Of this one's own all is known; of the others' what they wrote
 * down when they let them in. `complete` is `false` where the store did not say in time what runs elsewhere: what runs
 * here is shown all the same, then without e-mails, for which it would be asked too.
 */
export async function liveCalls(deps: HttpDeps) {
  const { store, gate } = deps;
  const told = await elsewhere(deps);
  const { count, calls } = told ?? none;
  // A call that came while the store was asked is here too.
  const ownIds = new Set(idsOf(gate.running));
  const others = calls.filter(({ id }) => !ownIds.has(id));
  const now = deps.now();
  const longest = [...gate.running]
    .sort((one, other) => one.progress.openedAt - other.progress.openedAt)
    .slice(0, shownMax);
  const shown = [
    ...longest.map((call) => toRunningCallJson(call, now)),
    ...others.map((call) => toRemoteCallJson(call, now)),
  ]
    .sort((one, other) => other.running_ms - one.running_ms)
    .slice(0, shownMax);
  const emails =
    told === undefined
      ? new Map<string, string>()
      : await emailsOf(
          store,
          shown.map(({ account }) => account),
        );
  return {
    count: ownIds.size + count - (calls.length - others.length),
    complete: told !== undefined,
    data: shown.map((call) => ({ ...call, email: emails.get(call.account) ?? null })),
  };
}

/** `undefined` when it could not be had in time. */
async function elsewhere(deps: HttpDeps): Promise<CallsElsewhere | undefined> {
  const { callsElsewhere } = deps;
  if (callsElsewhere === undefined) return none;
  try {
    return await callsElsewhere();
  } catch (error) {
    warnThrottled(deps, "calls_elsewhere_unknown", error);
    return undefined;
  }
}

function idsOf(running: ReadonlySet<RunningCall>): string[] {
  return [...running].map(({ progress }) => progress.id);
}

function toRunningCallJson({ capability, caller, progress, outlet }: RunningCall, now: number) {
  const { id, openedAt, model, route, attempts, firstByteMs, hold } = progress;
  return {
    id,
    /** Whether another process runs it. */
    elsewhere: false,
    at: toIso(openedAt),
    running_ms: Math.max(0, now - openedAt),
    account: caller.accountId,
    key_id: caller.keyId,
    capability,
    stream: outlet !== undefined,
    model: model ?? null,
    route: route ?? null,
    attempts,
    first_byte_ms: firstByteMs ?? null,
    held_usd: hold === undefined ? null : formatUsd(hold.heldNanodollars),
  };
}

function toRemoteCallJson(call: OpenCall, now: number) {
  return {
    id: call.id,
    elsewhere: true,
    at: toIso(call.opened_at),
    // Another machine's clock may be ahead.
    running_ms: Math.max(0, now - call.opened_at),
    account: call.account_id,
    key_id: call.key_id,
    capability: call.capability,
    stream: null,
    model: call.model,
    route: null,
    attempts: null,
    first_byte_ms: null,
    held_usd: formatUsd(call.hold_nanodollars),
  };
}
