import { randomBytes } from "node:crypto";
import { Type } from "@sinclair/typebox";
import { type Administrator, recordAudit } from "../audit/index.ts";
import { type Capability, GatewayError, optional, quoteValue } from "../contract/index.ts";
import { type Database, lockName, type OpenTransaction, type Store, type TransactionScope } from "../db/index.ts";
import type { Reroute } from "../kernel/index.ts";
import { type ColumnsOf, defineFields, emptyColumns, expiry, toJson } from "../lib/fields.ts";

/** A re-route as it is stored. */
export type StoredReroute = Database["reroutes"];

const Subject = Type.Union([Type.Literal("model"), Type.Literal("provider")], {
  description: "`model`: calls of this model; `provider`: calls of all models of this provider",
});

/** The fields of a re-route. What it is about is fixed when it is created. */
export const rerouteFields = defineFields<StoredReroute>()({
  subject: { schema: Subject, column: "subject" },
  name: {
    schema: Type.String({
      minLength: 1,
      maxLength: 200,
      description: "Any name of the model, or that of the provider",
    }),
    column: "name",
  },
  to_model: {
    schema: optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: "The model that answers; `null`, for a provider: only other routes of the same models",
      }),
    ),
    column: "to_model",
    changes: true,
  },
  ends_at: {
    schema: optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_000_000_000,
        description: "Seconds since 1970; `null`: until it is removed",
      }),
    ),
    column: "ends_at",
    flag: "until",
    unit: expiry,
    changes: true,
  },
});

type Columns = ColumnsOf<StoredReroute, typeof rerouteFields>;
export type NewReroute = Pick<Columns, "subject" | "name"> & Partial<Columns>;

/** A model, and the providers that serve it now. */
export interface ServedModel {
  readonly id: string;
  /** Its name for people. */
  readonly name: string;
  readonly capability: Capability;
  /** The providers that serve it now; none where none has a key. */
  readonly providers: readonly string[];
  /** Its provider has retired it, and it is not served since. */
  readonly hasEnded: boolean;
}

/** The models that are served now. */
export interface Served {
  /** Returns the model of an id or name; `undefined` for an unknown one. */
  describeModel(name: string): ServedModel | undefined;
  /** Returns the kinds of the models of a provider; none where its models are not known yet. */
  capabilitiesOf(provider: string): ReadonlySet<Capability>;
  hasProvider(name: string): boolean;
  /** Returns the providers of each model that is served. */
  listRoutes(): readonly (readonly string[])[];
}

interface Change {
  readonly by: Administrator;
  /** Absent: what is served is not known here, and targets are not compared with it. */
  readonly served: Served | undefined;
  readonly now: number;
  /** The name of a model for people, by its id. */
  nameOf(model: string): Promise<string> | string;
}

/** Each route of a call is decided with all of them in memory. */
const reroutesMax = 200;

/** Lists the re-routes that have not ended, oldest first. */
export async function listReroutes({ db }: Pick<Store, "db">, now: number): Promise<StoredReroute[]> {
  const rows = await db.selectFrom("reroutes").selectAll().orderBy("created_at").orderBy("id").execute();
  return rows.filter((row) => isInForce(row, now));
}

/** @throws {GatewayError} `not_found`, also for one that has ended. */
export async function readReroute({ db }: Pick<Store, "db">, id: string, now: number): Promise<StoredReroute> {
  const row = await db.selectFrom("reroutes").selectAll().where("id", "=", id).executeTakeFirst();
  if (row !== undefined && isInForce(row, now)) return row;
  throw unknownReroute(id);
}

/** @throws {GatewayError} `invalid_request`; `conflict` with another re-route. */
export async function createReroute(
  store: TransactionScope,
  columns: NewReroute,
  { by, served, now, nameOf }: Change,
): Promise<StoredReroute> {
  checkReroute(columns, now);
  const id = `rr_${randomBytes(9).toString("hex")}`;
  const row: StoredReroute = { ...emptyColumns(rerouteFields), ...columns, id, created_at: now };
  return await store.change(async (db) => {
    await lockName(db, "reroutes", store.shared);
    await db.deleteFrom("reroutes").where("ends_at", "<=", now).execute();
    const others = await db.selectFrom("reroutes").selectAll().execute();
    if (others.some(({ subject, name }) => subject === row.subject && name === row.name)) {
      const name = row.subject === "model" ? await nameOf(row.name) : row.name;
      throw new GatewayError("conflict", `The ${row.subject} ${quoteValue(name)} is re-routed already; change that`);
    }
    if (others.length >= reroutesMax) {
      throw new GatewayError("conflict", `There are ${reroutesMax} re-routes, the limit; remove one`);
    }
    await expectNoChain(row, others, nameOf);
    if (served !== undefined) expectServed(row, others, served);
    await db.insertInto("reroutes").values(row).execute();
    await record({ db, by, now }, "create", row);
    return row;
  });
}

/** @throws {GatewayError} `not_found`, `invalid_request`; `conflict` with another re-route. */
export async function changeReroute(
  store: TransactionScope,
  { id, changes }: { readonly id: string; readonly changes: Partial<Columns> },
  { by, served, now, nameOf }: Change,
): Promise<StoredReroute> {
  return await store.change(async (db) => {
    await lockName(db, "reroutes", store.shared);
    const all = (await db.selectFrom("reroutes").selectAll().execute()).filter((one) => isInForce(one, now));
    const present = all.find((one) => one.id === id);
    if (present === undefined) throw unknownReroute(id);
    const row = { ...present, ...changes };
    checkReroute(row, now);
    const others = all.filter((one) => one.id !== id);
    await expectNoChain(row, others, nameOf);
    if (served !== undefined && changes.to_model !== undefined) expectServed(row, others, served);
    await db
      .updateTable("reroutes")
      .set({ id, ...changes })
      .where("id", "=", id)
      .execute();
    await record({ db, by, now }, "change", row);
    return row;
  });
}

/** @throws {GatewayError} `not_found` */
export async function removeReroute(
  store: TransactionScope,
  id: string,
  { by, now }: Pick<Change, "by" | "now">,
): Promise<void> {
  await store.change(async (db) => {
    const row = await db.deleteFrom("reroutes").where("id", "=", id).returningAll().executeTakeFirst();
    if (row === undefined) throw unknownReroute(id);
    await record({ db, by, now }, "remove", row);
  });
}

/** @throws {GatewayError} `invalid_request` for one that cannot be, whatever else there is. */
export function checkReroute(
  { subject, name, to_model: toModel, ends_at: endsAt }: Partial<Columns>,
  now: number,
): void {
  if (subject === "model" && toModel == null) {
    throw invalid("to_model", "is missing; only calls of a provider can go to other routes of the same models");
  }
  if (subject === "model" && toModel === name) throw invalid("to_model", "is the re-routed model itself");
  if (endsAt != null && endsAt <= now) throw invalid("ends_at", "has passed; expected a time in the future");
}

/** The form that decides the models of calls. */
export function toReroute({ subject, name, to_model: toModel, ends_at: endsAt }: StoredReroute): Reroute {
  return { subject, name, toModel: toModel ?? undefined, untilMs: endsAt ?? undefined };
}

function isInForce({ ends_at: endsAt }: StoredReroute, now: number): boolean {
  return endsAt === null || endsAt > now;
}

/** A model that answers for another is not re-routed itself: what answers for it is named instead. */
async function expectNoChain(
  row: StoredReroute,
  others: readonly StoredReroute[],
  nameOf: Change["nameOf"],
): Promise<void> {
  const quote = async (model: string) => quoteValue(await nameOf(model));
  const next = others.find(({ subject, name }) => subject === "model" && name === row.to_model);
  if (next !== undefined) {
    const message = `to_model: ${await quote(next.name)} is re-routed to ${await quote(next.to_model ?? "")}; name that`;
    throw new GatewayError("conflict", message, { param: "to_model" });
  }
  const before = others.find(({ to_model: to }) => row.subject === "model" && to === row.name);
  if (before !== undefined) {
    const source = before.subject === "model" ? await quote(before.name) : quoteValue(before.name);
    const message = `name: ${await quote(row.name)} answers for the ${before.subject} ${source}; change or remove that re-route first`;
    throw new GatewayError("conflict", message, { param: "name" });
  }
}

/** Checks the target against what is served now. */
function expectServed(
  row: StoredReroute,
  others: readonly StoredReroute[],
  { describeModel, capabilitiesOf }: Served,
): void {
  const { subject, name, to_model: toModel } = row;
  const quote = (model: string) => quoteValue(describeModel(model)?.name ?? model);
  const source = subject === "model" ? describeModel(name) : undefined;
  if (subject === "model" && source === undefined) {
    throw invalid("name", `${quoteValue(name)} is not a model here; a virtual model is changed in the catalogue`);
  }
  const all = [...others, row];
  const isAvoided = (provider: string) => all.some((one) => one.subject === "provider" && one.name === provider);
  for (const { to_model: to, ...one } of all) {
    const target = to === null ? undefined : describeModel(to);
    if (target === undefined || target.providers.length === 0 || !target.providers.every(isAvoided)) continue;
    const whose =
      one.id === row.id
        ? ""
        : `, which answers for the ${one.subject} ${one.subject === "model" ? quote(one.name) : quoteValue(one.name)},`;
    const message = `${quote(to ?? "")}${whose} is served only by providers that are re-routed: ${target.providers.join(", ")}`;
    throw new GatewayError("conflict", message, { param: one.id === row.id ? "to_model" : "name" });
  }
  if (toModel === null) return;
  const target = describeModel(toModel);
  if (target === undefined) {
    throw invalid("to_model", `${quoteValue(toModel)} is not a model here, or is a virtual model; name a model`);
  }
  if (target.providers.length === 0) {
    throw invalid("to_model", `no provider that serves ${quoteValue(target.name)} is enabled and has a key`);
  }
  if (source !== undefined && source.capability !== target.capability) {
    const kinds = `${quoteValue(source.name)} is for ${source.capability}, ${quoteValue(target.name)} for ${target.capability}`;
    throw invalid("to_model", `is for another endpoint: ${kinds}`);
  }
  const ofProvider = subject === "provider" ? capabilitiesOf(name) : undefined;
  if (ofProvider !== undefined && !isOneOf(ofProvider, target)) {
    const kinds = `models of ${quoteValue(name)} are for ${[...ofProvider].sort().join(", ")}, ${quoteValue(target.name)} is for ${target.capability}`;
    throw invalid("to_model", `is for another endpoint: ${kinds}`);
  }
}

function isOneOf(capabilities: ReadonlySet<Capability>, { capability }: ServedModel): boolean {
  return capabilities.size === 0 || capabilities.has(capability);
}

/** Whether a re-route sends calls elsewhere now, and why not; `null` where that is not known. */
export interface RerouteEffect {
  readonly is_effective: boolean | null;
  /** `null`: it is effective, or that is not known. */
  readonly ineffective_reason: string | null;
}

/**
 * Tells whether a re-route that is in force sends calls elsewhere: it may have been made by a command that does not know what is
 * served, and what it names may have gone since.
 *
 * @param all All re-routes in force.
 * @param served Absent: not known.
 */
export function describeEffect(
  row: Pick<StoredReroute, "subject" | "name" | "to_model">,
  all: readonly Pick<StoredReroute, "subject" | "name">[],
  served: Served | undefined,
): RerouteEffect {
  if (served === undefined) return { is_effective: null, ineffective_reason: null };
  const reason = explainIneffective(row, all, served);
  return { is_effective: reason === undefined, ineffective_reason: reason ?? null };
}

function explainIneffective(
  { subject, name, to_model: to }: Pick<StoredReroute, "subject" | "name" | "to_model">,
  all: readonly Pick<StoredReroute, "subject" | "name">[],
  { describeModel, capabilitiesOf, hasProvider, listRoutes }: Served,
): string | undefined {
  const source = subject === "model" ? describeModel(name) : undefined;
  if (subject === "model" && source === undefined) return `${quoteValue(name)} is not a model here`;
  if (subject === "provider" && !hasProvider(name)) return `No provider is called ${quoteValue(name)}`;
  if (to === null) {
    const avoided = new Set(all.flatMap((one) => (one.subject === "provider" ? [one.name] : [])));
    const hasOther = (providers: readonly string[]) =>
      providers.includes(name) && providers.some((other) => other !== name && !avoided.has(other));
    return listRoutes().some(hasOther) ? undefined : `No other provider serves a model of ${quoteValue(name)}`;
  }
  const target = describeModel(to);
  if (target === undefined) return `${quoteValue(to)} is not a model here, or is a virtual model`;
  const quoted = quoteValue(target.name);
  if (target.hasEnded) return `${quoted} was retired by its provider`;
  if (target.providers.length === 0) return `No provider that serves ${quoted} is enabled and has a key`;
  const isFit = source === undefined ? isOneOf(capabilitiesOf(name), target) : source.capability === target.capability;
  return isFit ? undefined : `${quoted} is for another endpoint (${target.capability})`;
}

function invalid(param: string, fault: string): GatewayError {
  return new GatewayError("invalid_request", `${param}: ${fault}`, { param });
}

function unknownReroute(id: string): GatewayError {
  return new GatewayError("not_found", `No re-route has the id ${quoteValue(id)}; it may have ended`);
}

function record(
  { db, by, now }: Pick<OpenTransaction, "db"> & Pick<Change, "by" | "now">,
  what: "create" | "change" | "remove",
  row: StoredReroute,
): Promise<void> {
  const detail = toJson(rerouteFields, row);
  return recordAudit({ db }, { accountId: by.accountId, action: `reroute.${what}`, subject: row.id, detail }, now);
}
