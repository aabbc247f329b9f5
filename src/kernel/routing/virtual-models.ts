import { type CompiledPrice, costNanodollars, type Meters } from "../../contract/index.ts";
import type { Model, VirtualModelRow, VirtualStrategy } from "../../provider/index.ts";
import { affinity } from "./circuits.ts";

/** One model that a virtual model stands for. */
export interface VirtualMember {
  readonly name: string;
  readonly weight: number;
}

/** A name that stands for several models, which are tried in the order of its strategy. */
export interface VirtualModel {
  readonly id: string;
  readonly strategy: VirtualStrategy;
  /** The members in the order of the list; for `cheapest` sorted by price. */
  readonly members: readonly VirtualMember[];
  readonly speeds: Speeds;
}

/** Fields of a model that are compared. */
interface Priced {
  readonly model: Model;
  readonly compiledPrice: CompiledPrice | undefined;
}

/** Inputs of the order of the members. */
export interface OrderOptions {
  readonly nowMs: number;
  readonly isStream: boolean;
  /** The owner of the session, which keeps to one member. */
  readonly owner: string | undefined;
  /** From 0 to below 1. */
  random(): number;
}

/** Usage for comparing prices: three tokens of the prompt to one of the answer, or one unit of anything else. */
const sample: Meters = { inputToken: 3, outputToken: 1, image: 1, audioMs: 1, character: 1, call: 1 };
/** Larger than any price: a model without a known price comes last. */
const unknownCost = Number.POSITIVE_INFINITY;

/** @param find The model of a name, to compare prices. */
export function createVirtualModel(
  { id, models, strategy = "priority" }: VirtualModelRow,
  find: (name: string) => Priced | undefined,
  speeds: Speeds = new Speeds(),
): VirtualModel {
  const members = models.map((member) =>
    typeof member === "string" ? { name: member, weight: 1 } : { name: member.model, weight: member.weight ?? 1 },
  );
  if (strategy === "cheapest") {
    const costs = new Map(members.map(({ name }) => [name, toSampleCost(find(name))]));
    members.sort((a, b) => compare(costs.get(a.name) as number, costs.get(b.name) as number));
  }
  return { id, strategy, members, speeds };
}

/** The names of the members, the first to be tried first. */
export function orderMembers({ strategy, members, speeds }: VirtualModel, options: OrderOptions): readonly string[] {
  if (strategy === "weight") return sortBy(members, (member) => -drawOf(member, options));
  if (strategy !== "fastest") return members.map(({ name }) => name);
  // One without a figure is tried first: it gets one by that.
  return sortBy(members, ({ name }) => speeds.median(name, options) ?? -1);
}

/** Draws like `orderRoutes`: each place goes to a member with the chance of its weight among the remaining ones. */
function drawOf({ name, weight }: VirtualMember, { owner, random }: OrderOptions): number {
  const chance = owner === undefined ? random() : affinity(owner, name);
  return weight === 0 ? Number.NEGATIVE_INFINITY : Math.log(chance) / weight;
}

function sortBy(members: readonly VirtualMember[], rankOf: (member: VirtualMember) => number): string[] {
  const ranked = members.map((member) => ({ name: member.name, rank: rankOf(member) }));
  return ranked.sort((a, b) => compare(a.rank, b.rank)).map(({ name }) => name);
}

/** Infinities are equal, which their difference does not say. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function toSampleCost(priced: Priced | undefined): number {
  if (priced === undefined) return unknownCost;
  const { model, compiledPrice } = priced;
  if (!model.premium) return 0;
  return (compiledPrice && costOfSample(compiledPrice)) ?? unknownCost;
}

/** Cost of a million samples, because a cost is rounded up to nanodollars. */
function costOfSample(price: CompiledPrice): number | undefined {
  const { numerators } = price.tables.at(-1) as CompiledPrice["tables"][number];
  const amounts = Object.entries(sample).filter(([name]) => numerators[name as keyof Meters] !== undefined);
  const base = { ...price, tables: price.tables.slice(-1) };
  return costNanodollars(base, Object.fromEntries(amounts.map(([name, amount]) => [name, amount * 1_000_000])));
}

const speedMsMax = 5 * 60_000;
const samplesMax = 32;

/** How soon models began to answer in the last five minutes, in this process. A failure counts as never. */
export class Speeds {
  readonly #samples = new Map<string, { atMs: number; ms: number }[]>();

  record(name: string, ms: number, { nowMs, isStream }: Pick<OrderOptions, "nowMs" | "isStream">): void {
    const key = keyOf(name, isStream);
    const recent = this.#recent(key, nowMs);
    this.#samples.set(key, [...recent.slice(1 - samplesMax), { atMs: nowMs, ms }]);
  }

  /** Milliseconds; `undefined` without an answer in the last minutes. */
  median(name: string, { nowMs, isStream }: Pick<OrderOptions, "nowMs" | "isStream">): number | undefined {
    const sorted = this.#recent(keyOf(name, isStream), nowMs).map(({ ms }) => ms);
    sorted.sort(compare);
    return sorted[sorted.length >> 1];
  }

  #recent(key: string, nowMs: number) {
    return (this.#samples.get(key) ?? []).filter(({ atMs }) => atMs > nowMs - speedMsMax);
  }
}

/** A whole answer begins when it ends, so the two kinds are not compared. */
function keyOf(name: string, isStream: boolean): string {
  return `${isStream ? "stream" : "whole"} ${name}`;
}
