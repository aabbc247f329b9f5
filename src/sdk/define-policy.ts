import { suggestName } from "../lib/did-you-mean.ts";
import { isRecord } from "../lib/json.ts";
import type { Policy } from "../provider/index.ts";
import { PluginError } from "./errors.ts";

/** The fields of a policy, as its author writes them. */
export type PolicyDefinition = Pick<Policy, "name" | "version" | "request" | "answer"> &
  Partial<Pick<Policy, "holdBackChars" | "timeoutMs">>;

const knownFields = ["name", "version", "request", "answer", "holdBackChars", "timeoutMs"];
const holdBackCharsMax = 65_536;
const timeoutMs = { default: 1000, max: 30_000 };
const made = new WeakSet<object>();

/** Whether a value is a policy that {@link definePolicy} made. */
export function isPolicy(value: unknown): value is Policy {
  return typeof value === "object" && value !== null && made.has(value);
}

/**
 * Checks a policy and fills in what it leaves out: `timeoutMs` is 1,000, and without `holdBackChars` all of a streamed answer is
 * held back until its end.
 *
 * @throws {PluginError} When something is missing or misspelt; the message says where, and how to fix it.
 *
 * @example
 * const policy = definePolicy({
 *   name: "no-projects",
 *   version: "1",
 *   holdBackChars: 64,
 *   answer: (texts) =>
 *     texts.some(({ text }) => text.includes("Falcon")) ? { result: "deny", label: "project" } : { result: "allow" },
 * });
 * [policy.name, policy.timeoutMs]; // => ["no-projects", 1000]
 */
export function definePolicy(definition: PolicyDefinition): Policy {
  if (!isRecord(definition))
    throw new PluginError("Cannot load the policy: expected an object with name, version, request, answer");
  const { name, version, request, answer, holdBackChars, timeoutMs: timeout = timeoutMs.default } = definition;
  if (typeof name !== "string" || !/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) {
    throw new PluginError(
      `Cannot load the policy ${JSON.stringify(name)}: its name must be kebab-case, such as my-policy`,
    );
  }
  for (const field of Object.keys(definition)) {
    if (!knownFields.includes(field)) fail(name, `unknown field ${field}${suggestName(field, knownFields)}`);
  }
  if (typeof version !== "string" || !/^[\w.+-]{1,40}$/.test(version))
    fail(name, 'version must be a text such as "1.0"');
  for (const [field, check] of Object.entries({ request, answer })) {
    if (check !== undefined && typeof check !== "function") fail(name, `${field} must be a function`);
  }
  if (request === undefined && answer === undefined) fail(name, "it has neither request nor answer; add one");
  if (holdBackChars !== undefined) expectWhole(name, "holdBackChars", holdBackChars, { min: 0, max: holdBackCharsMax });
  expectWhole(name, "timeoutMs", timeout, { min: 1, max: timeoutMs.max });
  const policy: Policy = Object.freeze({
    name,
    version,
    ...(request && { request }),
    ...(answer && { answer }),
    holdBackChars: holdBackChars ?? Number.POSITIVE_INFINITY,
    timeoutMs: timeout,
  });
  made.add(policy);
  return policy;
}

function expectWhole(policy: string, field: string, value: unknown, { min, max }: { min: number; max: number }): void {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return;
  fail(policy, `${field} is ${JSON.stringify(value)}, expected a whole number from ${min} to ${max}`);
}

function fail(policy: string, message: string): never {
  throw new PluginError(`Cannot load the policy ${policy}: ${message}`);
}
