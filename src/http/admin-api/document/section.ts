import type { Static, TSchema } from "@sinclair/typebox";
import type { ApiAdministrator } from "../../../keys/index.ts";
import type { ProviderPlugin } from "../../../provider/index.ts";
import type { Account, AdminKeyArea } from "../../../tenants/index.ts";
import type { HttpDeps } from "../../deps.ts";

/** One part of the document, such as its budgets: its form, how it is read, and what it takes to make the gateway so. */
export interface Section<Schema extends TSchema = TSchema> {
  readonly schema: Schema;
  /** The scope that it needs, to read or to write. */
  readonly area: AdminKeyArea;
  /** Its value now; `undefined`: the environment decides it, which is not the document's. */
  read(deps: HttpDeps): Promise<Static<Schema> | undefined> | Static<Schema> | undefined;
  /**
   * The steps from what is in force to what a document says; none where it is in force.
   *
   * @param document All of it, for sections that are written together.
   * @throws {GatewayError}
   */
  plan(
    planning: Planning,
    value: Static<Schema>,
    document: Readonly<Record<string, unknown>>,
  ): Promise<Step[]> | Step[];
}

/** Types the functions of a section by its schema. */
export function defineSection<Schema extends TSchema>(section: Section<Schema>): Section<Schema> {
  return section;
}

/** A field of an entry that is not as the document says. */
export type FieldChanges = Record<string, { before: unknown; after: unknown }>;

/** One entry that is not as the document says. */
export interface Change {
  /** The name of the entry. */
  readonly id: string;
  readonly action: "create" | "change" | "remove";
  readonly fields: FieldChanges;
}

export interface Step extends Change {
  /** The account that it changes, as it is now; absent: it is made by a step before, or the step is of no account. */
  readonly account?: Account | undefined;
  run(): Promise<unknown>;
}

/** A key that a document has made. */
export interface CreatedKey {
  readonly account: string;
  readonly name: string;
  readonly id: string;
  readonly value: string;
}

/** The state that the sections of one document share while they are planned and written. */
export interface Planning {
  readonly deps: HttpDeps;
  readonly admin: ApiAdministrator;
  /** The accounts and teams that the document names, by the names that it has for them. */
  readonly accounts: ReadonlyMap<string, Account>;
  /** The names of the entries that the document has, in lower case: some are made by it. */
  readonly entries: {
    readonly accounts: ReadonlySet<string>;
    readonly keys: ReadonlySet<string>;
    readonly providers: ReadonlySet<string>;
  };
  /** The ids that keys of the document have here, by the ids that it has for them. Those that are created come later. */
  readonly keyIds: Map<string, string>;
  /** The keys that were created, as far as the steps have run. */
  readonly createdKeys: CreatedKey[];
  /** The providers that it adds, replaces and removes, as far as it is planned. */
  readonly providers: { readonly added: ProviderPlugin[]; readonly removed: string[] };
  /** The ids of models that the document adds, by their names. */
  readonly addedModels: ReadonlyMap<string, string>;
  /** Names that no model has, one message each. */
  readonly warnings: Set<string>;
}
