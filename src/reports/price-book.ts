import { type Kysely, sql } from "kysely";
import type { CompiledPrice } from "../contract/index.ts";
import { type Database, inQuietTransaction, type Store } from "../db/index.ts";

/** Price of a model, as the gateway charges it now. */
export interface PricedModel {
  readonly model: { readonly id: string };
  /** Absent: nothing says what it costs. */
  readonly compiledPrice: CompiledPrice | undefined;
}

/** Rows of one statement: databases bound its parameters. */
const rowsAtOnce = 500;

/**
 * Keeps each price that models have had, by the version that calls record, and when it changed: a charge can be
 * explained by the rates of its own time, whatever the price is later.
 */
export class PriceBook {
  readonly #store: Pick<Store, "db" | "shared">;
  readonly #now: () => number;
  /** Versions that are stored, and the newest version of each model; absent until they are read. */
  #stored: { readonly versions: Set<string>; readonly newest: Map<string, string> } | undefined;
  /** Models with the price that is in force since this moment, until they are written. */
  readonly #waiting = new Map<string, { readonly price: CompiledPrice; readonly at: number }>();
  #saving: Promise<void> | undefined;

  constructor({ store, now }: { store: Pick<Store, "db" | "shared">; now: () => number }) {
    this.#store = store;
    this.#now = now;
  }

  /** Notes the prices that calls are charged by from now on. {@link save} writes those that are new. */
  note(models: Iterable<PricedModel>): void {
    const at = this.#now();
    for (const { model, compiledPrice: price } of models) {
      if (price === undefined || this.#stored?.newest.get(model.id) === price.version) this.#waiting.delete(model.id);
      else this.#waiting.set(model.id, { price, at });
    }
  }

  /** Writes what is new; what could not be written waits for the next time. */
  save(): Promise<void> {
    if (this.#waiting.size === 0) return Promise.resolve();
    this.#saving ??= this.#write().finally(() => {
      this.#saving = undefined;
    });
    return this.#saving;
  }

  async #write(): Promise<void> {
    this.#stored ??= await readStored(this.#store.db);
    const { versions, newest } = this.#stored;
    const waiting = [...this.#waiting];
    const changes = waiting.flatMap(([model, { price, at }]) =>
      newest.get(model) === price.version ? [] : [{ model, changed_at: at, version: price.version }],
    );
    const prices = new Map(waiting.map(([, { price }]) => [price.version, price]));
    const missing = [...prices].flatMap(([version, price]) =>
      versions.has(version) ? [] : [{ version, rates: JSON.stringify(price) }],
    );
    if (changes.length > 0 || missing.length > 0) {
      await inQuietTransaction(this.#store, async ({ db }) => {
        for (const values of inParts(missing)) {
          await db
            .insertInto("prices")
            .values(values)
            .onConflict((conflict) => conflict.doNothing())
            .execute();
        }
        for (const values of inParts(changes)) {
          await db
            .insertInto("price_changes")
            .values(values)
            .onConflict((conflict) => conflict.doNothing())
            .execute();
        }
      });
    }
    for (const { version } of missing) versions.add(version);
    for (const { model, version } of changes) newest.set(model, version);
    for (const [model, written] of waiting) if (this.#waiting.get(model) === written) this.#waiting.delete(model);
  }
}

async function readStored(db: Kysely<Database>) {
  const versions = await db.selectFrom("prices").select("version").execute();
  const changes = await db.selectFrom("price_changes").select(["model", "version"]).orderBy("changed_at").execute();
  return {
    versions: new Set(versions.map(({ version }) => version)),
    newest: new Map(changes.map(({ model, version }) => [model, version])),
  };
}

function inParts<Row>(rows: readonly Row[]): Row[][] {
  return Array.from({ length: Math.ceil(rows.length / rowsAtOnce) }, (_, part) =>
    rows.slice(part * rowsAtOnce, (part + 1) * rowsAtOnce),
  );
}

/** A price of a model with its place in time, in milliseconds since 1970. */
export interface PriceInTime {
  readonly version: string;
  readonly price: CompiledPrice;
  /** When it replaced another price; `undefined`: it is the first that is known of the model. */
  readonly changedAt: number | undefined;
  /** The actor of the audit log who changed it; `undefined`: a file, an update of the program, or nobody who is known. */
  readonly changedBy: string | undefined;
  /** When another price replaced it. */
  readonly replacedAt: number | undefined;
}

/** A new price is in force a moment before it is noted. */
const noteMs = 60_000;
/** An audit entry is written before its change is in force. */
const auditMs = 120_000;

/** The price that a call of a model recorded when it began. `undefined` for a version that is not kept. */
export async function readPriceInTime(
  { db }: Pick<Store, "db">,
  { model, version, at }: { readonly model: string; readonly version: string; readonly at: number },
): Promise<PriceInTime | undefined> {
  const stored = await db.selectFrom("prices").select("rates").where("version", "=", version).executeTakeFirst();
  if (stored === undefined) return undefined;
  const price: CompiledPrice = JSON.parse(stored.rates);
  const change = (direction: "before" | "after") =>
    db
      .selectFrom("price_changes")
      .select("changed_at")
      .where("model", "=", model)
      .orderBy("changed_at", direction === "before" ? "desc" : "asc")
      .limit(1);
  // Processes that note the same change at once have a row each: the price is in force since the first.
  const other = await change("before").where("version", "<>", version).where("changed_at", "<=", at).executeTakeFirst();
  const earlier = other?.changed_at ?? 0;
  const begun = await change("after")
    .where("version", "=", version)
    .where("changed_at", ">", earlier)
    .where("changed_at", "<=", at + noteMs)
    .executeTakeFirst();
  const since = begun?.changed_at;
  const next = await change("after")
    .where("version", "<>", version)
    .where("changed_at", ">", since ?? at)
    .executeTakeFirst();
  const changedAt = other === undefined ? undefined : since;
  const changedBy = changedAt === undefined ? undefined : await readChanger(db, model, changedAt);
  return { version, price, changedAt, changedBy, replacedAt: next?.changed_at };
}

/** The actor of the last change of models and prices before this time, if its entry names the model. */
async function readChanger(db: Kysely<Database>, model: string, at: number): Promise<string | undefined> {
  const pattern = `%${model.replaceAll(/[\\%_]/g, "\\$&")}%`;
  const entry = await db
    .selectFrom("audit")
    .select("account_id")
    .where("at", ">=", at - auditMs)
    .where("at", "<=", at)
    .where("action", "=", "catalogue.change")
    .where(sql<boolean>`detail like ${pattern} escape '\\'`)
    .orderBy("at", "desc")
    .limit(1)
    .executeTakeFirst();
  return entry?.account_id;
}
