import { type Budget, formatUsd, GatewayError, parseUsd } from "../../contract/index.ts";
import type { ForeignKey } from "../../keys/index.ts";
import type { Model } from "../../provider/index.ts";
import { type ProjectChanges, parseEmail } from "../../tenants/index.ts";
import { columns } from "../lib/format.ts";
import { textOf } from "./foreign-database.bun.ts";
import type { Losses } from "./losses.ts";
import type { PlannedBudget, PlannedModelLimits, Restriction } from "./restrictions.ts";

/**
 * Plan of a move from another gateway to this one. `--dry-run` prints it and everything else carries it out.
 * What this gateway cannot do as the other did is never made looser: it is made stricter or left out, and `notes` say so.
 */
export interface ImportPlan {
  /** The other gateway: `litellm`, `new-api`, `openrouter`. */
  readonly source: string;
  readonly models: readonly PlannedModel[];
  readonly providers: readonly PlannedProvider[];
  readonly accounts: readonly PlannedAccount[];
  readonly keys: readonly PlannedKey[];
  /** Losses and changes, one message each. */
  readonly notes: readonly string[];
}

/** A name that clients of the other gateway use. */
export interface PlannedModel {
  readonly name: string;
  /** Names of models here that serve it, by falling priority, or by weight where they have some; empty: none does. */
  readonly targets: readonly { readonly model: string; readonly weight?: number | undefined }[];
  /** US dollars for a million tokens of prompt and answer; absent: the other gateway does not say. */
  readonly theirs?: Rates | undefined;
  readonly ours?: Rates | undefined;
  /** `virtual`: a virtual model of that name is made; `served`: a model here has that name. */
  readonly kind: "served" | "virtual" | "missing";
}

export interface Rates {
  readonly input: number;
  readonly output: number;
}

/** A provider that is added by a manifest, or whose keys are stored. */
export interface PlannedProvider {
  readonly name: string;
  /** Absent: it is built in. */
  readonly manifest?: Readonly<Record<string, unknown>> | undefined;
  readonly keys: readonly string[];
}

/** An account of the other gateway, before the import has looked for it here. */
export interface DraftAccount {
  /** The id of the other gateway, unique in it. */
  readonly ref: string;
  readonly name: string;
  /** Address of the person whose own account it is; absent: a team without members. */
  readonly email?: string | undefined;
  readonly restriction: Restriction;
  /** Prepaid money. */
  readonly creditNanodollars: number;
}

/** A key as an import reads it there. */
export interface DraftKey extends Pick<ForeignKey, "name" | "sha256" | "expiresAt" | "allowedNetworks"> {
  /** {@link DraftAccount.ref} */
  readonly account: string;
  readonly restriction: Restriction;
  /** Names of the restrictions that cannot be carried over and were not accepted to be lost. */
  readonly heldFor: readonly string[];
}

/** Contents of another gateway, as an import reads them. */
export interface DraftPlan extends Pick<ImportPlan, "source" | "models" | "providers"> {
  readonly accounts: readonly DraftAccount[];
  readonly keys: readonly DraftKey[];
  readonly losses: Losses;
}

export interface PlannedAccount extends Omit<DraftAccount, "restriction"> {
  /** The account that is here already, whose settings stay; absent: it is created. */
  readonly id?: string | undefined;
  /** The ref of another account of the plan with the same e-mail, whose it is; absent: its own. */
  readonly sharedWith?: string | undefined;
  readonly changes: ProjectChanges;
  /** Limits of single models for all of its keys together. */
  readonly modelLimits: readonly PlannedModelLimits[];
  readonly budgets: readonly PlannedBudget[];
}

export interface PlannedKey extends Omit<ForeignKey, "accountId"> {
  /** {@link PlannedAccount.ref} */
  readonly account: string;
  /** Limits of single models for this key. */
  readonly modelLimits: readonly PlannedModelLimits[];
  readonly budgets: readonly PlannedBudget[];
}

/**
 * Reads the e-mail of a user of the other gateway. Returns `undefined` without an address, and, with a note, for an
 * address that is not valid here. The gateway's own addresses, such as an imported team's, are not valid either: such
 * an address would lead to another account.
 */
export function readEmail(value: unknown, owner: string, note: (message: string) => void): string | undefined {
  const text = textOf(value);
  if (text === undefined) return undefined;
  try {
    return parseEmail(text);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    note(
      `${owner} has the e-mail ${text.slice(0, 100)}, which is not valid here: the account is imported without an e-mail`,
    );
    return undefined;
  }
}

/** Converts an amount in floating point to nanodollars; `undefined` for anything but a number from 0. */
export function toNanodollars(usd: unknown): number | undefined {
  const value = typeof usd === "string" ? Number(usd) : usd;
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return undefined;
  return parseUsd(value.toFixed(9));
}

/**
 * Converts a budget for a number of days to the next longer period, or, if it is longer than a month, to its share of a
 * month. The result is never looser. Without a number of days the budget lasts for ever, and its limit is what is left
 * of it.
 */
export function toBudget(
  { limit, spent, days }: { limit: number; spent: number; days: number | undefined },
  note: (message: string) => void,
): Pick<Budget, "limitNanodollars" | "period"> {
  if (days === undefined) return { limitNanodollars: Math.max(0, limit - spent), period: "lifetime" };
  if (spent > 0) note("has a budget that starts again here: the amount spent in this period is not counted");
  const period = days <= 1 ? "day" : days <= 7 ? "week" : "month";
  if (days <= 31) {
    if (days !== 1 && days !== 7 && days < 28) note(`has a budget for ${days} days; here it is for a ${period}`);
    return { limitNanodollars: limit, period };
  }
  note(`has a budget for ${days} days; here it is the share of a month`);
  return { limitNanodollars: Math.floor((limit * 28) / days), period };
}

/** Rates of a model here, as far as they are by the token. */
export function toRates({ price }: Model): Rates | undefined {
  const rateOf = (rate: { usd: string; per: number } | undefined) =>
    rate === undefined ? undefined : (Number(rate.usd) * 1_000_000) / rate.per;
  const [input, output] = [rateOf(price?.inputToken), rateOf(price?.outputToken)];
  return input === undefined ? undefined : { input, output: output ?? 0 };
}

/**
 * Fields of the row for a model at an address of its own. The price is the other gateway's; else it comes, with the
 * capability, from the model that has the same name here. Without either the price is unknown, and calls draw on the
 * free quota until the operator sets one.
 */
export function toPricedRow(theirs: Rates | undefined, same: Model | undefined): Record<string, unknown> {
  const rate = (usd: number) => ({ usd: String(Number(usd.toFixed(9))), per: 1_000_000 });
  if (theirs !== undefined) {
    return { premium: true, price: { inputToken: rate(theirs.input), outputToken: rate(theirs.output) } };
  }
  if (same?.price === undefined) return { premium: false };
  const { capability, premium, price, audioMsMax, pagesMax, secondsMax } = same;
  return { capability, premium, price, audioMsMax, pagesMax, secondsMax };
}

export function formatPlan(plan: ImportPlan): string {
  const { models, providers, accounts, keys, notes } = plan;
  const parts: string[] = [];
  const section = (title: string, head: string[], rows: string[][]) => {
    if (rows.length > 0) parts.push(`${title}\n${columns([head, ...rows])}`);
  };
  section(
    "Models (USD for a million tokens of prompt / answer)",
    ["name", "served by", "theirs", "ours"],
    models.map(({ name, targets, theirs, ours }) => [
      name,
      targets.map(({ model }) => model).join(", ") || "nothing here",
      formatRates(theirs),
      formatRates(ours),
    ]),
  );
  section(
    "Providers",
    ["name", "added", "keys"],
    providers.map(({ name, manifest, keys: own }) => [
      name,
      manifest === undefined ? "built in" : String(manifest.baseUrl),
      String(own.length),
    ]),
  );
  section(
    "Accounts",
    ["name", "e-mail", "budget", "credit"],
    accounts.map(({ name, email = "", changes: { budget }, budgets, creditNanodollars: credit }) => [
      name,
      email,
      formatBudget(budget ?? budgets.find(({ model }) => model === undefined)),
      credit === 0 ? "" : formatUsd(credit),
    ]),
  );
  const nameOf = new Map(accounts.map(({ ref, name }) => [ref, name]));
  section(
    "Keys, which keep working",
    ["name", "account", "budget", "models", "ends"],
    keys.map(({ name, account, bounds = {}, budgets, allowedModels, expiresAt, isRevoked, heldFor }) => [
      name,
      nameOf.get(account) ?? account,
      formatBudget(
        bounds.budgetNanodollars === undefined
          ? budgets.find(({ model }) => model === undefined)
          : { limitNanodollars: bounds.budgetNanodollars, period: bounds.budgetPeriod ?? "month" },
      ),
      allowedModels === undefined ? "all" : allowedModels.join(", "),
      isRevoked
        ? "revoked"
        : heldFor !== undefined
          ? "held back"
          : expiresAt === undefined
            ? "never"
            : new Date(expiresAt).toISOString().slice(0, 10),
    ]),
  );
  section(
    "Budgets of models",
    ["model", "of", "budget"],
    [...accounts, ...keys].flatMap(({ name, budgets }) =>
      budgets.flatMap(({ model, ...budget }) => (model === undefined ? [] : [[model, name, formatBudget(budget)]])),
    ),
  );
  section(
    "Limits of models",
    ["model", "of", "requests/min", "tokens/min"],
    [...accounts, ...keys].flatMap(({ name, modelLimits }) =>
      modelLimits.map(({ model, limits: { requestsPerMinute, tokensPerMinute } }) => [
        model,
        name,
        String(requestsPerMinute ?? "–"),
        String(tokensPerMinute ?? "–"),
      ]),
    ),
  );
  if (notes.length > 0) parts.push(["Not imported unchanged", ...notes.map((text) => `- ${text}`)].join("\n"));
  return parts.length === 0 ? "There is nothing to import" : parts.join("\n\n");
}

/** A budget for people: `5 USD a day`, `12 USD in all`; empty for none. */
export function formatBudget(budget: Pick<Budget, "limitNanodollars" | "period"> | undefined): string {
  if (budget === undefined) return "";
  const usd = formatUsd(budget.limitNanodollars);
  return budget.period === "lifetime" ? `${usd} USD in all` : `${usd} USD a ${budget.period}`;
}

function formatRates(rates: Rates | undefined): string {
  const toText = (value: number) => String(Number(value.toPrecision(6)));
  return rates === undefined ? "–" : `${toText(rates.input)} / ${toText(rates.output)}`;
}

/** A plan for `--json`, without secrets. */
export function toPlanJson({ providers, keys, ...plan }: ImportPlan) {
  return {
    ...plan,
    providers: providers.map(({ name, manifest, keys: own }) => ({
      name,
      base_url: manifest?.baseUrl ?? null,
      keys: own.length,
    })),
    keys: keys.map(({ sha256: _, ...key }) => key),
  };
}
