import type { Budget, BudgetPeriod, KeyLimits, RateLimits } from "../../contract/index.ts";
import type { ProjectChanges } from "../../tenants/index.ts";

/** Limits of one model, by its id here. */
export interface PlannedModelLimits {
  readonly model: string;
  readonly limits: RateLimits;
}

/** A budget that an account or key has besides its own: for one model, or one that never begins anew. */
export interface PlannedBudget extends Pick<Budget, "limitNanodollars" | "period"> {
  /** The id of a model here; absent: the budget counts all calls of the account or key. */
  readonly model?: string | undefined;
}

const limitNames = ["requestsPerMinute", "tokensPerMinute", "concurrentCalls"] as const;
type LimitName = (typeof limitNames)[number];

/**
 * Everything that the other gateway lets an owner do no further: a key, a user, a team, a member of one, a project. Here it becomes
 * part of an account or of keys. Nothing that is done with a restriction makes it looser.
 */
export interface Restriction {
  /** 0: it may make no call. Absent: no limit. */
  readonly limits: Limits;
  readonly budgets: readonly PlannedBudget[];
  /** Ids of models; absent: all. */
  readonly models?: readonly string[] | undefined;
  readonly modelLimits: readonly PlannedModelLimits[];
  readonly isBlocked: boolean;
}

export const unrestricted: Restriction = { limits: {}, budgets: [], modelLimits: [], isBlocked: false };

/** Whether a restriction forbids something. */
export function isRestricting({ limits, budgets, models, modelLimits, isBlocked }: Restriction): boolean {
  return isBlocked || models !== undefined || Object.keys(limits).length + budgets.length + modelLimits.length > 0;
}

/** Both restrictions at once: the lesser of two limits, and what both lists have. */
export function both(one: Restriction, other: Restriction): Restriction {
  const budgets = new Map<string, PlannedBudget>();
  for (const budget of [...one.budgets, ...other.budgets]) {
    const place = `${budget.period} ${budget.model ?? ""}`;
    const present = budgets.get(place);
    if (present === undefined || budget.limitNanodollars < present.limitNanodollars) budgets.set(place, budget);
  }
  const modelLimits = new Map<string, PlannedModelLimits>();
  for (const { model, limits } of [...one.modelLimits, ...other.modelLimits]) {
    modelLimits.set(model, { model, limits: lesser(modelLimits.get(model)?.limits ?? {}, limits) });
  }
  return {
    limits: lesser(one.limits, other.limits),
    budgets: [...budgets.values()],
    models:
      one.models === undefined ? other.models : one.models.filter((model) => other.models?.includes(model) ?? true),
    modelLimits: [...modelLimits.values()],
    isBlocked: one.isBlocked || other.isBlocked,
  };
}

type Limits = Readonly<Partial<Record<LimitName, number | undefined>>>;

/** Limits without those that are absent, each made by a function of its name and value. */
function mapLimits(
  limits: Limits,
  map: (limit: number, name: LimitName) => number,
): Partial<Record<LimitName, number>> {
  const mapped: Partial<Record<LimitName, number>> = {};
  for (const name of limitNames) {
    const limit = limits[name];
    if (limit !== undefined) mapped[name] = map(limit, name);
  }
  return mapped;
}

function lesser(one: Limits, other: Limits): Partial<Record<LimitName, number>> {
  return mapLimits({ ...one, ...other }, (limit, name) => Math.min(limit, one[name] ?? limit));
}

/** The part of a restriction that each of several keys gets. Together they can do no more than their owner. */
export function share(restriction: Restriction, among: number): Restriction {
  if (among <= 1) return restriction;
  const part = (limit: number) => Math.floor(limit / among);
  const parts = (limits: Limits) => mapLimits(limits, part);
  return {
    ...restriction,
    limits: parts(restriction.limits),
    budgets: restriction.budgets.map((budget) => ({ ...budget, limitNanodollars: part(budget.limitNanodollars) })),
    modelLimits: restriction.modelLimits.map(({ model, limits }) => ({ model, limits: parts(limits) })),
  };
}

/**
 * Whether nothing can be called under a restriction: it is blocked, has a limit or a budget of nothing, or a list of no models.
 * A budget of dollars does not bind a model that is free here, so one that is spent has to end the key.
 */
export function forbidsAll({ limits, budgets, models, modelLimits, isBlocked }: Restriction): boolean {
  return (
    isBlocked ||
    models?.length === 0 ||
    Object.values(limits).includes(0) ||
    budgets.some(({ model, limitNanodollars }) => model === undefined && limitNanodollars === 0) ||
    // A model without a call cannot be said otherwise.
    modelLimits.some(({ limits }) => Object.values(limits).includes(0))
  );
}

/** Ids of models in one list here. */
const modelsMax = 500;

interface Fields {
  readonly limits: Restriction["limits"];
  readonly models: readonly string[] | undefined;
  /** The budget that an account or key has by itself. */
  readonly own: { readonly limitNanodollars: number; readonly period: BudgetPeriod } | undefined;
  /** The other budgets of the account or key. */
  readonly budgets: readonly PlannedBudget[];
  readonly modelLimits: readonly PlannedModelLimits[];
}

function toFields({ limits, budgets, models, modelLimits }: Restriction): Fields {
  const own = budgets.find(({ model, period }) => model === undefined && period !== "lifetime");
  // A limit of 0 is dropped: it revokes the key or disables the account instead. A limit too large to count never
  // binds, so it is only lowered to a safe number.
  const above = (values: Limits) =>
    Object.fromEntries(
      Object.entries(mapLimits(values, (limit) => Math.min(limit, Number.MAX_SAFE_INTEGER))).filter(
        ([, limit]) => limit > 0,
      ),
    );
  return {
    limits: above(limits),
    models: models?.slice(0, modelsMax),
    own: own && { limitNanodollars: own.limitNanodollars, period: own.period as BudgetPeriod },
    budgets: budgets.filter((budget) => budget !== own),
    modelLimits: modelLimits
      .map(({ model, limits }) => ({ model, limits: above(limits) }))
      .filter(({ limits }) => Object.keys(limits).length > 0),
  };
}

/** A restriction as the fields of a key. */
export function toKeyFields(restriction: Restriction): {
  readonly bounds: KeyLimits;
  readonly allowedModels: string[] | undefined;
  readonly modelLimits: readonly PlannedModelLimits[];
  readonly budgets: readonly PlannedBudget[];
  readonly isRevoked: boolean;
} {
  const { limits, models, own, budgets, modelLimits } = toFields(restriction);
  const bounds = { ...limits, ...(own && { budgetNanodollars: own.limitNanodollars, budgetPeriod: own.period }) };
  const isRevoked = forbidsAll(restriction);
  return {
    bounds,
    allowedModels: models?.length === 0 ? undefined : models && [...models],
    modelLimits,
    budgets,
    isRevoked,
  };
}

/**
 * Converts a restriction to changes of an account, and to the limits and budgets that are stored outside the account.
 */
export function toAccountFields(restriction: Restriction): {
  readonly changes: ProjectChanges;
  readonly modelLimits: readonly PlannedModelLimits[];
  readonly budgets: readonly PlannedBudget[];
} {
  const { limits, models, own, budgets, modelLimits } = toFields(restriction);
  const changes: ProjectChanges = {
    ...limits,
    ...(models !== undefined && models.length > 0 && { allowedModels: [...models] }),
    ...(own !== undefined && { budget: own }),
    ...(forbidsAll(restriction) && { isDisabled: true }),
  };
  return { changes, modelLimits, budgets };
}
