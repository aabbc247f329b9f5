import { type TArray, type TObject, type TOptional, type TProperties, type TString, Type } from "@sinclair/typebox";
import { bodyFields, type ColumnsOf, type Fields, toJson } from "../../../lib/fields.ts";
import { nextTurn } from "../../../lib/next-turn.ts";
import type { Account } from "../../../tenants/index.ts";
import { resources } from "../../resources/index.ts";
import { type Listed, type Resource, readColumns } from "../../resources/resource.ts";
import { invalid } from "../lists.ts";
import { toResourceDeps } from "../resource-routes.ts";
import {
  closed,
  entriesMax,
  entriesOf,
  expectFew,
  findOwner,
  isTurnOver,
  OptionalAccount,
  planEntries,
  readAccountNames,
  readOwnerId,
  Status,
  toKeyIdHere,
} from "./plan-entries.ts";
import { defineSection, type Section } from "./section.ts";

type Entry = { readonly account?: string; readonly status?: "present" | "removed" } & Readonly<Record<string, unknown>>;
type EntrySchema = TObject<{ account?: TOptional<TString>; status?: typeof Status } & TProperties>;

/** An entry with its columns, which are read once. */
interface Prepared<Columns> {
  readonly entry: Entry;
  readonly status: Entry["status"];
  readonly label: string;
  readonly account: Account | undefined;
  /** Absent: the document makes the account. */
  readonly owner: string | undefined;
  readonly columns: Columns;
}

/** The sections of declared things, by their names. */
export const declaredSections: Readonly<Record<string, Section<TArray<EntrySchema>>>> = Object.fromEntries(
  resources.flatMap(({ visit }) =>
    visit((resource) => {
      const { document } = resource;
      return document === undefined ? [] : [[document.section, resourceSection(resource, document)]];
    }),
  ),
);

/** The section of a thing that accounts have, or that there is one of for each of them. */
function resourceSection<Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object>(
  resource: Resource<Row, F, Derived>,
  listed: Listed<Row, F>,
): Section<TArray<EntrySchema>> {
  const { fields, name, eachOwner, create, change, remove } = resource;
  const { section, identity, label } = listed;
  const isIdentity = (field: string) => identity.includes(field);
  const amounts = Object.fromEntries(Object.entries(fields).filter(([field]) => !isIdentity(field)));
  const identified = Object.fromEntries(Object.entries(fields).filter(([field]) => isIdentity(field)));
  type Columns = Partial<ColumnsOf<Row, F>>;
  const absent = Object.fromEntries(identity.map((field) => [field, null]));
  const amountColumns = new Set<string>(Object.values(amounts).map(({ column }) => column));
  const identityColumns = identity.map((field) => (fields[field] as { column: string }).column as keyof Row);
  const required: readonly string[] = Type.Object(bodyFields(amounts)).required ?? [];
  // An entry that changes one amount leaves out the others.
  const properties = Object.entries(bodyFields(fields)).map(([field, schema]) => {
    return [field, isIdentity(field) ? schema : Type.Optional(schema)] as const;
  });
  const isOwned = resource.mounts.some(({ owner }) => owner === "project");
  const schema = Type.Object(
    {
      ...(isOwned && { account: OptionalAccount }),
      ...(Object.fromEntries(properties) as TProperties),
      ...(remove !== undefined && { status: Status }),
    },
    closed,
  );
  const labelOf = ({ account = listed.each, ...entry }: Entry) =>
    [...(account === undefined ? [] : [account]), label(entry)].join(" ");
  const inForce = (columns: Columns, now: number) => listed.inForce?.(columns, now) ?? columns;
  const toFields = (row: Row, now: number) => toJson<Row, F>(fields, { ...row, ...inForce(row as Columns, now) });
  const toAmounts = (columns: Columns) =>
    Object.fromEntries(Object.entries(columns).filter(([column]) => amountColumns.has(column))) as Columns;
  const toIdentity = (owner: string, row: Partial<Row>) =>
    JSON.stringify([owner, ...identityColumns.map((column) => row[column] ?? null)]);

  return defineSection<TArray<EntrySchema>>({
    schema: entriesOf(schema, listed.description === undefined ? {} : { description: listed.description }),
    area: resource.area,
    async read(deps) {
      const emails = await readAccountNames(deps);
      const rows = await resource.list(toResourceDeps(deps), undefined, { limit: entriesMax + 1 });
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
      // A document is written as a whole: what it names may be served once it has been.
      const deps = { ...toResourceDeps(planning.deps), served: undefined };
      const now = deps.now();
      const here = planning.deps.snapshot().plugins.map(({ name }) => name);
      const providers = [...new Set([...here, ...planning.entries.providers])];
      /** The columns of an entry. Keys have the ids that they have here, as far as they are here yet. */
      const read = async (entry: Entry) => {
        const ids = (listed.keyFields?.(entry) ?? []).flatMap((field) => {
          const id = toKeyIdHere(planning, entry[field] as string | null | undefined);
          return id === undefined ? [] : [[field, id]];
        });
        const whole = { ...absent, ...entry, ...Object.fromEntries(ids) };
        return inForce(await readColumns(deps, resource, whole), now);
      };
      const prepare = async (entry: Entry): Promise<Prepared<Columns>> => {
        // Model names become ids here, so two entries about one thing are recognized.
        const named = toJson(identified, (await readColumns(deps, resource, entry)) as Partial<Row>);
        const { account: email } = entry;
        const label = labelOf({ ...entry, ...named });
        const account = email === undefined ? undefined : findOwner(planning, { section, what: `a ${name}`, email });
        const owner = email === undefined ? eachOwner : account?.id;
        return { entry, label, account, owner, columns: await read(entry), status: entry.status };
      };
      const entries: Prepared<Columns>[] = [];
      for (const [index, entry] of (value as readonly Entry[]).entries()) {
        if (isTurnOver(index)) await nextTurn();
        entries.push(await prepare(entry));
      }
      const owners = [eachOwner, ...new Set(entries.flatMap(({ owner }) => owner ?? []))];
      const rows = entries.length === 0 ? [] : await resource.list(deps, owners, { limit: entriesMax });
      const present = new Map(rows.map((row) => [toIdentity(resource.ownerOf(row), row), row]));
      return await planEntries<Prepared<Columns>, Row>(entries, {
        section,
        label: ({ label }) => label,
        owner: ({ account }) => account,
        find: ({ owner, columns }) =>
          owner === undefined ? undefined : present.get(toIdentity(owner, columns as Partial<Row>)),
        toTarget({ entry, columns }) {
          const target = toJson(amounts, columns as Partial<Row>) as Readonly<Record<string, unknown>>;
          return Object.fromEntries(Object.entries(target).filter(([field]) => entry[field] !== undefined));
        },
        toCurrent: (row) => toFields(row, now),
        check({ entry, label, owner, columns }, present) {
          const missing = required.find((field) => entry[field] === undefined);
          if (present === undefined && missing !== undefined) {
            throw invalid(section, `The ${name} ${label} has no ${missing}`);
          }
          listed.check?.(columns, { by: admin, owner, now, providers, ...(present !== undefined && { present }) });
        },
        async create({ entry }) {
          const owner = entry.account === undefined ? eachOwner : await readOwnerId(planning, entry.account);
          return await create?.(deps, admin, owner, await read(entry));
        },
        change: async (row, { columns }) =>
          await change?.(deps, admin, { owner: resource.ownerOf(row), id: row.id }, toAmounts(columns)),
        ...(remove !== undefined && {
          remove: (row: Row) => remove(deps, admin, { owner: resource.ownerOf(row), id: row.id }),
        }),
      });
    },
  });
}
