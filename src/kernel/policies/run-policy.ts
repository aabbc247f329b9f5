/** One look of a policy: within its time, behind its breaker, and with a result that is checked before it counts. */
import { isRecord, parseJson } from "../../lib/json.ts";
import type { Policy, PolicyContext, PolicyText } from "../../provider/index.ts";

/** The result of a look, once it is checked. */
export type PolicyOutcome =
  | { readonly result: "allow"; readonly label?: string | undefined; readonly count: number }
  | { readonly result: "deny"; readonly label?: string | undefined; readonly count: number; readonly message?: string }
  | {
      readonly result: "replace";
      readonly label?: string | undefined;
      readonly count: number;
      readonly texts: ReadonlyMap<string, string>;
    }
  | { readonly result: "failed"; readonly label: PolicyFailure; readonly count: number };

/** Why a look failed: its file is missing, its time was up, it threw, its result is invalid, or it is paused after failures. */
export type PolicyFailure = "missing" | "timeout" | "error" | "bad_result" | "paused" | "held_too_long";

const failuresMax = 5;
const pauseMs = 10_000;
const labelForm = /^[A-Za-z0-9._-]{1,40}$/;
const messageCharactersMax = 500;
/** Replacements may grow the texts by this factor, and by this number of characters. */
const growth = { factor: 2, characters: 65_536 };

interface Breaker {
  failures: number;
  pausedUntilMs: number;
}

/** The breaker of each policy as it was loaded: a new version of its file begins anew. */
const breakers = new WeakMap<Policy, Breaker>();

const failed = (label: PolicyFailure): PolicyOutcome => ({ result: "failed", label, count: 1 });

/** @param policy Absent: its file is missing. */
export async function runPolicy(
  policy: Policy | undefined,
  phase: "request" | "answer",
  { texts, context, now }: { texts: readonly PolicyText[]; context: Omit<PolicyContext, "signal">; now: () => number },
): Promise<PolicyOutcome> {
  if (policy === undefined) return failed("missing");
  const check = policy[phase];
  if (check === undefined || texts.length === 0) return { result: "allow", count: 0 };
  const breaker = breakers.get(policy) ?? { failures: 0, pausedUntilMs: 0 };
  breakers.set(policy, breaker);
  if (breaker.pausedUntilMs > now()) return failed("paused");
  const outcome = await runInTime(check.bind(policy), { texts, context, timeoutMs: policy.timeoutMs });
  if (outcome.result !== "failed") breaker.failures = 0;
  // One look is tried after the pause, and another failure pauses it again.
  else if (++breaker.failures >= failuresMax) breaker.pausedUntilMs = now() + pauseMs;
  return outcome;
}

async function runInTime(
  check: NonNullable<Policy["request"]>,
  {
    texts,
    context,
    timeoutMs,
  }: { texts: readonly PolicyText[]; context: Omit<PolicyContext, "signal">; timeoutMs: number },
): Promise<PolicyOutcome> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  try {
    const checking = check(texts, { ...context, signal: controller.signal });
    if (!(checking instanceof Promise)) return readResult(checking, texts);
    const timeout = new Promise<"timeout">((resolve) => {
      timer = setTimeout(resolve, timeoutMs, "timeout");
    });
    const result = await Promise.race([checking, timeout]);
    return result === "timeout" ? failed("timeout") : readResult(result, texts);
  } catch {
    // The error may quote the texts, so it is in no log.
    return failed("error");
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}

function readResult(value: unknown, texts: readonly PolicyText[]): PolicyOutcome {
  if (!isRecord(value)) return failed("bad_result");
  const { result, label, count = 1, message, texts: replaced } = value;
  if (label !== undefined && !(typeof label === "string" && labelForm.test(label))) return failed("bad_result");
  if (!Number.isSafeInteger(count) || (count as number) < 0) return failed("bad_result");
  const note = { label: label as string | undefined, count: count as number };
  if (result === "allow") return { result, ...note, count: label === undefined ? 0 : note.count };
  if (result === "deny") {
    if (message !== undefined && typeof message !== "string") return failed("bad_result");
    return { result, ...note, ...(message && { message: message.slice(0, messageCharactersMax).toWellFormed() }) };
  }
  const changes = result === "replace" ? readChanges(replaced, texts) : undefined;
  return changes === undefined ? failed("bad_result") : { result: "replace", ...note, texts: changes };
}

/** The new texts by path; `undefined` where a place is not there, occurs twice, or arguments are no JSON any more. */
function readChanges(replaced: unknown, texts: readonly PolicyText[]): ReadonlyMap<string, string> | undefined {
  if (!Array.isArray(replaced)) return undefined;
  const byPath = new Map(texts.map((text) => [text.path, text]));
  const changes = new Map<string, string>();
  let charactersLeft = growth.characters + growth.factor * texts.reduce((sum, { text }) => sum + text.length, 0);
  for (const one of replaced) {
    if (!isRecord(one) || typeof one.path !== "string" || typeof one.text !== "string") return undefined;
    const before = byPath.get(one.path);
    charactersLeft -= one.text.length;
    if (before === undefined || changes.has(one.path) || charactersLeft < 0) return undefined;
    if (before.kind === "arguments" && isJson(before.text) && !isJson(one.text)) return undefined;
    changes.set(one.path, one.text.toWellFormed());
  }
  return changes;
}

function isJson(text: string): boolean {
  return parseJson(text) !== undefined;
}
