import { isDeepStrictEqual } from "node:util";
import { type TSchema, Type } from "@sinclair/typebox";
import { quoteValue } from "../../../contract/index.ts";
import { nextTurn } from "../../../lib/next-turn.ts";
import { type Account, listAccountsPage } from "../../../tenants/index.ts";
import type { HttpDeps } from "../../deps.ts";
import { Email } from "../../forms/read-fields.ts";
import { invalid } from "../lists.ts";
import type { FieldChanges, Planning, Step } from "./section.ts";

/** Entries in one section of a document. */
export const entriesMax = 10_000;

export const closed = { additionalProperties: false };
export const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
/** Whether an entry is there; absent: it is. */
export const Status = Type.Optional(Type.Union([Type.Literal("present"), Type.Literal("removed")]));
/** The account of an entry that there is also one of for each account. */
export const OptionalAccount = Type.Optional({
  ...Email,
  description: "The e-mail of its account, or the address of its team; absent: each by itself",
});
export const entriesOf = <Entry extends TSchema>(entry: Entry, options: { description?: string } = {}) =>
  Type.Array(entry, { maxItems: entriesMax, ...options });

/** Whether others get a turn before the entry of this index: there may be thousands. */
export const isTurnOver = (index: number) => index % 500 === 499;

export const toLower = (text: string) => text.trim().toLowerCase();

/** The fields of an entry that are given and are not so yet. */
export function diff(
  current: Readonly<Record<string, unknown>>,
  target: Readonly<Record<string, unknown>>,
): FieldChanges {
  const fields: FieldChanges = {};
  for (const [name, after] of Object.entries(target)) {
    const before = current[name] ?? null;
    if (after !== undefined && !isDeepStrictEqual(before, after)) fields[name] = { before, after };
  }
  return fields;
}

export const isSame = (fields: FieldChanges) => Object.keys(fields).length === 0;

/** @throws {GatewayError} `invalid_request` for an entry that is named twice. */
export function expectOnce(section: string, names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw invalid(section, `${section} has ${quoteValue(name)} twice; leave one out`);
    seen.add(name);
  }
}

/** A document of more entries is no document that somebody reads. @throws {GatewayError} `invalid_request` */
export function expectFew(section: string, count: number): void {
  if (count <= entriesMax) return;
  throw invalid(
    "sections",
    `There are more than ${entriesMax} ${section}; ask for the other sections, and list ${section} by their own endpoint`,
  );
}

/** All accounts, also archived ones. @throws {GatewayError} `invalid_request` for more than a document has. */
export async function listAll({ store }: HttpDeps): Promise<Account[]> {
  const accounts = await listAccountsPage(store, { limit: entriesMax + 1, includesDisabled: true });
  expectFew("accounts", accounts.length);
  return accounts;
}

/** The names that accounts have in a document, by their ids. */
export async function readAccountNames(deps: HttpDeps): Promise<ReadonlyMap<string, string>> {
  return new Map((await listAll(deps)).map(({ id, email }) => [id, email]));
}

/**
 * The account of an entry; `undefined`: the document makes it.
 *
 * @throws {GatewayError} `invalid_request` when it does neither exist nor come with the document.
 */
export function findOwner(
  { accounts, entries }: Planning,
  { section, what, email }: { section: string; what: string; email: string },
): Account | undefined {
  const account = accounts.get(email);
  if (account !== undefined || entries.accounts.has(toLower(email))) return account;
  throw invalid(section, `The account ${quoteValue(email)} of ${what} does not exist`);
}

/** The id of an account when a step runs, which an earlier step may have made. */
export async function readOwnerId({ deps }: Planning, email: string): Promise<string> {
  const account = (await deps.accounts.find(email)) as Account;
  return account.id;
}

/** The id that a key of the document has here, as far as it is here yet. */
export function toKeyIdHere({ keyIds }: Planning, id: string | null | undefined): string | undefined {
  return id == null ? undefined : (keyIds.get(id) ?? id);
}

type Values = Readonly<Record<string, unknown>>;

/** How the entries of a section become what they say. `Present` is the thing as it is stored. */
export interface EntryPlanner<Entry, Present> {
  readonly section: string;
  /** The display name of an entry, unique in its section. */
  label(entry: Entry): string;
  /** The account that an entry belongs to; `undefined`: none, or one that the document makes. */
  owner?(entry: Entry): Account | undefined;
  find(entry: Entry): Promise<Present | undefined> | Present | undefined;
  /** The fields of an entry that say how it is to be, as they are stored; absent fields stay. */
  toTarget(entry: Entry): Promise<Values> | Values;
  /** The fields of `toTarget`, with their stored values. */
  toCurrent(present: Present): Values;
  /** @throws {GatewayError} for an entry that cannot be, before anything is written. */
  check?(entry: Entry, present: Present | undefined, fields: FieldChanges): Promise<void> | void;
  create(entry: Entry, fields: FieldChanges): Promise<unknown>;
  change(present: Present, entry: Entry, fields: FieldChanges): Promise<unknown>;
  remove?(present: Present): Promise<unknown>;
}

/** Plans a section entry by entry: what is in force changes nothing. @throws {GatewayError} */
export async function planEntries<Entry extends { readonly status?: string | undefined }, Present>(
  entries: readonly Entry[],
  planner: EntryPlanner<Entry, Present>,
): Promise<Step[]> {
  expectOnce(planner.section, entries.map(planner.label));
  const steps: Step[] = [];
  for (const [index, entry] of entries.entries()) {
    if (isTurnOver(index)) await nextTurn();
    const common = { id: planner.label(entry), account: planner.owner?.(entry) };
    const present = await planner.find(entry);
    if (entry.status === "removed") {
      const { remove } = planner;
      if (present === undefined || remove === undefined) continue;
      steps.push({ ...common, action: "remove", fields: {}, run: () => remove(present) });
      continue;
    }
    const fields = diff(present === undefined ? {} : planner.toCurrent(present), await planner.toTarget(entry));
    if (present !== undefined && isSame(fields)) continue;
    await planner.check?.(entry, present, fields);
    const run =
      present === undefined ? () => planner.create(entry, fields) : () => planner.change(present, entry, fields);
    steps.push({ ...common, action: present === undefined ? "create" : "change", fields, run });
  }
  return steps;
}
