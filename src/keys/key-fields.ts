import { type Static, type TObject, Type } from "@sinclair/typebox";
import type { Selectable } from "kysely";
import {
  checkName,
  createNetworkList,
  GatewayError,
  isAmount,
  isNetwork,
  type KeyLimits,
  type NetworkList,
  networkForm,
  optional,
  type RateLimits,
} from "../contract/index.ts";
import type { Database } from "../db/index.ts";
import { validateExpiry } from "../lib/expiry.ts";
import { type bodyFields, defineFields, expiry, Limit, toColumns, toJson, Usd, usd } from "../lib/fields.ts";
import { checkAllowedModels, Models } from "../tenants/index.ts";

/** The fields of a key that its owner can set. */
export interface KeyFields {
  name?: string | undefined;
  /** Milliseconds since 1970; absent when the key never expires. */
  expiresAt?: number | undefined;
  /** Model ids; absent: all. */
  allowedModels?: readonly string[] | undefined;
  /** The key's own limits, in addition to the limits of its account. */
  bounds?: KeyLimits | undefined;
  /** Addresses and CIDR ranges that it may be used from; absent: any. */
  allowedNetworks?: readonly string[] | undefined;
  /** Whether the gateway marks prompts of its calls for caches; absent: `auto`. */
  cacheMarks?: CacheMarksSetting | undefined;
}

/** Whether the gateway marks prompts for the caches of providers where a client marks nothing. */
export const cacheMarksSettings = ["auto", "off"] as const;
export type CacheMarksSetting = (typeof cacheMarksSettings)[number];

/** Networks of one key. */
export const networksMax = 100;

type KeyColumns = Omit<KeyFields, "name" | "bounds"> & KeyLimits;

/** When a key ends. */
export const expiryField = defineFields<Pick<KeyFields, "expiresAt">>()({
  expires_at: {
    schema: optional(Type.Integer({ minimum: 1, maximum: 10_000_000_000, description: "Seconds since 1970" })),
    column: "expiresAt",
    changes: true,
    unit: expiry,
  },
});

/** The fields that the owner of a key decides, except its name and its end. */
export const keyFields = defineFields<KeyColumns>()({
  allowed_models: { schema: optional(Models), column: "allowedModels", changes: true },
  allowed_networks: {
    schema: optional(Type.Array(Type.String({ minLength: 1, maxLength: 50 }), { minItems: 1, maxItems: networksMax })),
    column: "allowedNetworks",
    changes: true,
  },
  cache_marks: {
    schema: Type.Optional(
      Type.Union(
        cacheMarksSettings.map((word) => Type.Literal(word)),
        { description: "`off`: the gateway marks no prompts for the caches of providers" },
      ),
    ),
    column: "cacheMarks",
    changes: true,
  },
  budget_usd: { schema: optional(Usd), column: "budgetNanodollars", changes: true, unit: usd },
  budget_period: {
    schema: optional(Type.Union([Type.Literal("day"), Type.Literal("week"), Type.Literal("month")])),
    column: "budgetPeriod",
    changes: true,
  },
  requests_per_minute: { schema: optional(Limit), column: "requestsPerMinute", changes: true },
  tokens_per_minute: { schema: optional(Limit), column: "tokensPerMinute", changes: true },
  concurrent_calls: { schema: optional(Limit), column: "concurrentCalls", changes: true },
});
export type KeyBody = Static<TObject<ReturnType<typeof bodyFields<typeof keyFields>>>>;

/** Reads the fields of a key in the body of a request; `null` removes one. @throws {GatewayError} `invalid_request` */
export function readKeyFields(body: KeyBody & { readonly expires_at?: number | null }, now: number) {
  const columns = toColumns<KeyColumns, typeof readFields>(readFields, body, now);
  const { allowedModels, allowedNetworks, cacheMarks, expiresAt, ...bounds } = columns;
  return { allowedModels, allowedNetworks, cacheMarks, expiresAt, bounds };
}
const readFields = { ...keyFields, ...expiryField };

/** Reads the fields of a new key, where `null` means absent. @throws {GatewayError} `invalid_request` */
export function readNewKeyFields(body: Parameters<typeof readKeyFields>[0], now: number) {
  return readKeyFields(Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)), now);
}

/** The fields of a key in answers. A key without a budget has no period of one. */
export function toKeyFieldsJson(key: Omit<KeyFields, "bounds"> & { readonly bounds: KeyLimits }) {
  const { budgetNanodollars, budgetPeriod = "month" } = key.bounds;
  const period = budgetNanodollars === undefined ? undefined : budgetPeriod;
  const columns = { ...key, ...key.bounds, budgetPeriod: period };
  return toJson<KeyColumns, typeof keyFields>(keyFields, columns);
}

/** @throws {GatewayError} `invalid_request` for an invalid name, time, list of models or networks, or limit. */
export function checkKeyFields(
  { name, expiresAt, allowedModels, allowedNetworks, bounds = {} }: KeyFields,
  now: number,
): void {
  checkLimits(bounds);
  if (name !== undefined) checkName(name, "key name");
  if (expiresAt !== undefined) validateExpiry(expiresAt, now);
  if (allowedModels !== undefined) checkAllowedModels(allowedModels);
  if (allowedNetworks !== undefined) checkNetworks(allowedNetworks);
}

function checkNetworks(networks: readonly string[]): void {
  const wrong = networks.find((network) => !isNetwork(network));
  if (wrong !== undefined) {
    throw invalid(
      "allowed_networks",
      `${JSON.stringify(wrong.slice(0, 50))} is not a network; expected ${networkForm}`,
    );
  }
  if (networks.length > 0 && networks.length <= networksMax) return;
  const expected = `expected 1 to ${networksMax}; omit the field to allow all`;
  throw invalid("allowed_networks", `allowed_networks has ${networks.length} networks; ${expected}`);
}

/** The networks of a key as they are stored; absent allows all. */
export function toNetworksColumn(networks: readonly string[] | undefined): string | null {
  return networks === undefined ? null : JSON.stringify(networks);
}

/** The reverse of {@link toNetworksColumn}. */
export function readNetworks(column: string | null): string[] | undefined {
  return column === null ? undefined : (JSON.parse(column) as string[]);
}

/** The setting of a key as it is stored; absent allows marks. */
export function toCacheMarksColumn(setting: CacheMarksSetting | undefined): "off" | null {
  return setting === "off" ? setting : null;
}

/** Whether an address is in one of the networks that {@link checkKeyFields} has accepted. */
export function toNetworkList(column: string | null): NetworkList | undefined {
  const networks = readNetworks(column);
  return networks && createNetworkList(networks);
}

/** The column of each limit in the table of keys. */
export const columnOf = {
  requestsPerMinute: "requests_per_minute",
  tokensPerMinute: "tokens_per_minute",
  concurrentCalls: "concurrent_calls",
} as const satisfies Record<keyof RateLimits, keyof Database["keys"]>;

type LimitColumns = Pick<Selectable<Database["keys"]>, (typeof columnOf)[keyof RateLimits]>;

export function limitColumns(bounds: RateLimits): LimitColumns {
  return {
    requests_per_minute: bounds.requestsPerMinute ?? null,
    tokens_per_minute: bounds.tokensPerMinute ?? null,
    concurrent_calls: bounds.concurrentCalls ?? null,
  };
}

/** The own budget of a key that is given one; undefined otherwise. */
export function toKeyBudget({ budgetNanodollars: limitNanodollars, budgetPeriod: period = "month" }: KeyLimits) {
  return limitNanodollars === undefined ? undefined : { limitNanodollars, period };
}

/** Limits of a key as its row has them. */
export function toRateLimits(row: LimitColumns): RateLimits {
  return {
    requestsPerMinute: row.requests_per_minute ?? undefined,
    tokensPerMinute: row.tokens_per_minute ?? undefined,
    concurrentCalls: row.concurrent_calls ?? undefined,
  };
}

/** @throws {GatewayError} `invalid_request` when a limit is not an integer from 1, or a budget not one from 0. */
function checkLimits(bounds: KeyLimits): void {
  for (const name of ["requestsPerMinute", "tokensPerMinute", "concurrentCalls"] as const) {
    const limit = bounds[name];
    if (limit === undefined || (isAmount(limit) && limit >= 1)) continue;
    throw invalid(columnOf[name], `${columnOf[name]} is ${limit}, expected a whole number from 1 to 2^53 - 1`);
  }
  const budget = bounds.budgetNanodollars;
  if (budget === undefined || isAmount(budget)) return;
  throw invalid("budget_usd", `The budget is ${budget} nanodollars, expected a whole number from 0 to 2^53 - 1`);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
