import { isRecord } from "../lib/json.ts";
import type { Model } from "../provider/index.ts";

/**
 * Lists the differences between two catalogues, one line a model: `+ id`, `- id`, or `~ id` with each field before and
 * after.
 *
 * @param ignored Fields that do not count.
 */
export function compareModels(
  before: readonly Model[],
  after: readonly Model[],
  ignored: readonly string[] = [],
): string[] {
  const old = new Map(before.map((model) => [model.id, model]));
  const lines = after.flatMap((model) => {
    const before = old.get(model.id);
    old.delete(model.id);
    if (before === undefined) return [`+ ${model.id}`];
    // Most rows are in no file of the operator's, and stay the same objects.
    if (before === model) return [];
    const changes = compareFields(before, model, ignored);
    return changes.length === 0 ? [] : [`~ ${model.id}: ${changes.join("; ")}`];
  });
  return [...lines, ...[...old.keys()].map((id) => `- ${id}`)];
}

function compareFields(before: Model, after: Model, ignored: readonly string[]): string[] {
  const [old, next] = [before, after].map((model) => new Map(flatten(model))) as [Leaves, Leaves];
  const fields = [...new Set([...old.keys(), ...next.keys()])].filter((field) => !ignored.includes(field));
  return fields.flatMap((field) => {
    const [from, to] = [old.get(field) ?? "none", next.get(field) ?? "none"];
    return from === to ? [] : [`${field} ${from} → ${to}`];
  });
}

type Leaves = Map<string, string>;

/** Writes each rate on one line: `price.inputToken 0.10/1000000`. */
function flatten(value: object, path = ""): [string, string][] {
  return Object.entries(value).flatMap(([field, inner]): [string, string][] => {
    const name = path === "" ? field : `${path}.${field}`;
    if (!isRecord(inner)) return [[name, JSON.stringify(inner)]];
    if (typeof inner.usd === "string") return [[name, `${inner.usd}/${inner.per}`]];
    return flatten(inner, name);
  });
}
