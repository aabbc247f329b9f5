import { type TArray, type TObject, type TOptional, type TProperties, type TString, Type } from "@sinclair/typebox";
import { bodyFields, type ColumnsOf, type Fields, toJson } from "../../../lib/fields.ts";
import { resources } from "../../resources/index.ts";
import { type Resource, readColumns } from "../../resources/resource.ts";
import { invalid } from "../lists.ts";
import { toResourceDeps } from "../resource-routes.ts";
import {
  closed,
  entriesMax,
  entriesOf,
  expectFew,
  findOwner,
  OptionalAccount,
  planEntries,
  readAccountNames,
  readOwnerId,
  Status,
  toKeyIdHere,
} from "./plan-entries.ts";
import { defineSection, type Section } from "./section.ts";

type Entry = { readonly account?: string; readonly status?: "present" | "removed" } & Readonly<Record<string, unknown>>;
type EntrySchema = TObject<{ account: TOptional<TString>; status: typeof Status } & TProperties>;

/** The sections of declared things, by their names. */
export const declaredSections: Readonly<Record<string, Section<TArray<EntrySchema>>>> = Object.fromEntries(
  resources.map(({ visit }) => visit((resource) => [resource.document.section, resourceSection(resource)])),
);

/** The section of a thing that accounts have, or that there is one of for each of them. */
function resourceSection<Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object>(
  resource: Resource<Row, F, Derived>,
): Section<TArray<EntrySchema>> {
  const { fields, name, document: listed, eachOwner } = resource;
  const { section, identity, label } = listed;
  const isIdentity = (field: string) => identity.includes(field);
  const amounts = Object.fromEntries(Object.entries(fields).filter(([field]) => !isIdentity(field)));
  const identified = Object.fromEntries(Object.entries(fields).filter(([field]) => isIdentity(field)));
  const absent = Object.fromEntries(identity.map((field) => [field, null]));
  const amountColumns = new Set<string>(Object.values(amounts).map(({ column }) => column));
  const identityColumns = identity.map((field) => (fields[field] as { column: string }).column as keyof Row);
  const required: readonly string[] = Type.Object(bodyFields(amounts)).required ?? [];
  // An entry that changes one amount leaves out the others.
  const properties = Object.entries(bodyFields(fields)).map(([field, schema]) => {
    return [field, isIdentity(field) ? schema : Type.Optional(schema)] as const;
  });
  const schema = Type.Object(
    { account: OptionalAccount, ...(Object.fromEntries(properties) as TProperties), status: Status },
    closed,
  );
  const labelOf = ({ account = listed.each, ...entry }: Entry) =>
    [...(account === undefined ? [] : [account]), label(entry)].join(" ");
  const inForce = (columns: Partial<ColumnsOf<Row, F>>, now: number) => listed.inForce?.(columns, now) ?? columns;
  const toFields = (row: Row, now: number) =>
    toJson<Row, F>(fields, { ...row, ...inForce(row as Partial<ColumnsOf<Row, F>>, now) });

  return defineSection<TArray<EntrySchema>>({
    schema: entriesOf(schema, listed.description === undefined ? {} : { description: listed.description }),
    area: resource.area,
    async read(deps) {
      const emails = await readAccountNames(deps);
      const rows = await listed.listAll(toResourceDeps(deps), undefined, entriesMax + 1);
      expectFew(section, rows.length);
      const entries = rows.flatMap((row) => {
        const owner = resource.ownerOf(row);
        const account = emails.get(owner);
        if (listed.isElsewhere?.(row) === true || (owner !== eachOwner && account === undefined)) return [];
        return [{ ...(account !== undefined && { account }), ...toFields(row, deps.now()) }];
      });
      // Rows of one document are made in the same millisecond: only what they are about tells their order again.
      const orderOf = ({ account = "", ...entry }: Entry) => `${account} ${label(entry)}`;
      return entries.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
    },
    async plan(planning, value) {
      const { admin } = planning;
      const deps = toResourceDeps(planning.deps);
      /** Names of models are ids in it, so that two entries of one thing are found. */
      const toIds = async (entry: Entry): Promise<Entry> => {
        const named = toJson(identified, (await readColumns(deps, resource, entry)) as Partial<Row>);
        return {
          ...entry,
          ...Object.fromEntries(Object.entries(named).filter(([field]) => entry[field] !== undefined)),
        };
      };
      const entries = await Promise.all((value as readonly Entry[]).map(toIds));
      const now = deps.now();
      const findAccount = ({ account: email }: Entry) =>
        email === undefined ? undefined : findOwner(planning, { section, what: `a ${name}`, email });
      const ownerOf = (entry: Entry) => (entry.account === undefined ? eachOwner : findAccount(entry)?.id);
      /** Keys have the ids that they have here, as far as they are here yet. */
      const readEntry = async (entry: Entry) => {
        const ids = (listed.keyFields?.(entry) ?? []).flatMap((field) => {
          const id = toKeyIdHere(planning, entry[field] as string | null | undefined);
          return id === undefined ? [] : [[field, id]];
        });
        const whole = { ...absent, ...entry, ...Object.fromEntries(ids) };
        return inForce(await readColumns(deps, resource, whole), now);
      };
      const readAmounts = async (entry: Entry) => {
        const columns = Object.entries(await readEntry(entry)).filter(([column]) => amountColumns.has(column));
        return Object.fromEntries(columns) as Partial<ColumnsOf<Row, F>>;
      };
      const owners = entries.flatMap(({ account = "" }) => planning.accounts.get(account)?.id ?? []);
      const rows = entries.length === 0 ? [] : await listed.listAll(deps, [eachOwner, ...owners], entriesMax);
      return await planEntries<Entry, Row>(entries, {
        section,
        label: labelOf,
        owner: findAccount,
        async find(entry) {
          const owner = ownerOf(entry);
          const columns: Partial<Row> = { ...((await readEntry(entry)) as Partial<Row>) };
          const isSame = (row: Row) =>
            identityColumns.every((column) => (row[column] ?? null) === (columns[column] ?? null));
          return owner === undefined ? undefined : rows.find((row) => resource.ownerOf(row) === owner && isSame(row));
        },
        async toTarget(entry) {
          const target = toJson(amounts, (await readAmounts(entry)) as Partial<Row>);
          return Object.fromEntries(
            Object.entries(target).filter(([field, value]) => entry[field] !== undefined || value !== null),
          );
        },
        toCurrent: (row) => toFields(row, now),
        async check(entry, present) {
          if (present !== undefined) {
            const target = Object.fromEntries(identityColumns.map((column) => [column, present[column]]));
            return listed.check?.(
              { ...target, ...(await readAmounts(entry)) },
              { owner: ownerOf(entry), now, present },
            );
          }
          const missing = required.find((field) => entry[field] === undefined);
          if (missing !== undefined) throw invalid(section, `The ${name} ${labelOf(entry)} has no ${missing}`);
          listed.check?.(await readEntry(entry), { owner: ownerOf(entry), now });
        },
        async create(entry) {
          const owner = entry.account === undefined ? eachOwner : await readOwnerId(planning, entry.account);
          return await resource.create(deps, admin, owner, await readEntry(entry));
        },
        change: async (row, entry) =>
          resource.change(deps, admin, { owner: resource.ownerOf(row), id: row.id }, await readAmounts(entry)),
        remove: (row) => resource.remove(deps, admin, { owner: resource.ownerOf(row), id: row.id }),
      });
    },
  });
}
