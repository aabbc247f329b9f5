import { isDeepStrictEqual } from "node:util";
import { quoteValue, sumPromptTokens } from "../../contract/index.ts";
import type { Fixture } from "./fixture.ts";
import { type Outcome, readReply, simulatedKey } from "./simulate.ts";

/** A problem and its fix; `undefined` if the check passed. */
export type CheckFinding = { readonly wrong: string; readonly fix: string } | undefined;

/** Finds what no plugin may do in any call: throw what is not an `UpstreamError`, or show its key. */
export function findMisbehaviour({ thrown, error }: Outcome): CheckFinding {
  if (thrown.length > 0) {
    const [first] = thrown;
    const message = first instanceof Error ? `${first.name}: ${first.message}` : String(first);
    return {
      wrong: `the plugin threw ${message.slice(0, 160)}`,
      fix: 'check the response of the provider before you use it, and throw new UpstreamError("bad_response", …) if it is invalid',
    };
  }
  if (error?.message.includes(simulatedKey)) {
    return { wrong: "the caller sees the key", fix: "leave readError out, or build its message without the key" };
  }
  return undefined;
}

/** Whether an answer is what a fixture expects. */
export function findDifference(fixture: Fixture, outcome: Outcome): CheckFinding {
  const { expect = {} } = fixture;
  const { error, settlement, requests } = outcome;
  if (expect.error !== undefined) {
    if (error?.publicCode === expect.error || error?.code === expect.error) return undefined;
    return { wrong: `the caller gets ${error?.code ?? "no error"}, expected ${expect.error}`, fix: "see readError" };
  }
  const misbehaviour = findMisbehaviour(outcome);
  if (misbehaviour !== undefined) return misbehaviour;
  if (error !== undefined)
    return {
      wrong: `the caller gets the error: ${error.message}`,
      fix: "throw UpstreamError only for a failure of the provider: this answer is valid",
    };
  const reply = readReply(outcome);
  const meters = settlement?.meters ?? {};
  const figures = { ...reply, promptTokens: sumPromptTokens(meters), completionTokens: meters.outputToken };
  for (const [field, expected] of Object.entries(expect)) {
    const actual = figures[field as keyof typeof figures];
    if (!isDeepStrictEqual(actual, expected)) {
      const wrong = `${field} is ${describe(actual)}, expected ${describe(expected)}`;
      return { wrong, fix: "fix how the answer is read" };
    }
  }
  if (fixture.path !== undefined && requests[0] !== undefined && !requests[0].url.endsWith(fixture.path)) {
    const wrong = `it called ${requests[0].url}, expected …${fixture.path}`;
    return { wrong, fix: "fix the path given to call.upstream" };
  }
  if (fixture.body !== undefined && !isDeepStrictEqual(requests[0]?.body, fixture.body)) {
    const wrong = `it sent ${describe(requests[0]?.body)}, expected ${describe(fixture.body)}`;
    return { wrong, fix: "send what the fixture has as its body, or correct the fixture" };
  }
  return undefined;
}

function describe(value: unknown): string {
  return value === undefined ? "nothing" : quoteValue(value, 160);
}
