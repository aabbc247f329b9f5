import { type Static, Type } from "@sinclair/typebox";
import { sql } from "kysely";
import { accountLabel, GatewayError, parseUsd, quoteValue } from "../../contract/index.ts";
import type { Store } from "../../db/index.ts";
import { getDisplayName } from "../../provider/index.ts";
import { getModelNames, type ModelNames } from "../../providers/index.ts";
import { parseStatusFilter, type RequestFilter, type StatusFilter, statusForms } from "../../reports/index.ts";
import type { HttpDeps } from "../deps.ts";

export const Email = Type.String({ minLength: 1, maxLength: 254 });
export const Period = Type.Union([Type.Literal("day"), Type.Literal("week"), Type.Literal("month")]);
/** Decimal US dollars as nanodollars. @throws {GatewayError} `invalid_request` */
export function readUsd(text: string): number {
  const nanodollars = parseUsd(text);
  if (nanodollars !== undefined && nanodollars !== 0) return nanodollars;
  throw invalid("usd", "is not US dollars other than 0 such as 5.00, at most nine decimals");
}

/** The amount of a credit. @throws {GatewayError} `invalid_request` */
export function readCredit(text: string): number {
  const nanodollars = readUsd(text);
  if (nanodollars > 0) return nanodollars;
  throw invalid(
    "usd",
    "is below 0, expected an amount to add such as 5.00; `modelgate wallet debit` deducts from a wallet",
  );
}

/** Query parameters of a paged list: the time and id of the last entry of the previous page. */
export const CursorQuery = Type.Object({
  before: Type.Optional(Type.String({ maxLength: 40 })),
  before_id: Type.Optional(Type.String({ maxLength: 100 })),
});

/** Reads where a page of a list begins. Lists are sorted by time and id, newest first. */
export function readCursor({ before, before_id: id = "" }: Static<typeof CursorQuery>) {
  return before === undefined ? undefined : { at: readMoment(before, "before"), id };
}

const moment = Type.Optional(Type.String({ maxLength: 40 }));
/** Fields of a query: the first moment that is meant, and the first that is not any more. */
export const spanFields = { from: moment, until: moment };

export function readSpan({ from, until }: { from?: string; until?: string }) {
  return {
    from: from === undefined ? undefined : readMoment(from, "from"),
    until: until === undefined ? undefined : readMoment(until, "until"),
  };
}

/**
 * The id of an account that is named by its id or its e-mail. An id is not looked up.
 *
 * @throws {GatewayError} `invalid_request` for an unknown e-mail.
 */
export async function readAccountId({ db }: Pick<Store, "db">, text: string, param: string): Promise<string> {
  if (!text.includes("@")) return text;
  const email = text.trim().toLowerCase();
  const row = await db.selectFrom("accounts").select("id").where("email", "=", email).executeTakeFirst();
  if (row !== undefined) return row.id;
  throw new GatewayError("invalid_request", `There is no account with the e-mail ${text}`, { param });
}

/** Accounts that an error names. */
const namedMax = 3;

/**
 * The id of an account by its id, its e-mail or its name, whatever its case.
 *
 * @throws {GatewayError} `invalid_request` for a name that no account has, or several.
 */
export async function findAccountId({ db }: Pick<Store, "db">, text: string, param: string): Promise<string> {
  const sought = text.trim();
  const byKey = await db
    .selectFrom("accounts")
    .select("id")
    .where((where) => where.or([where("id", "=", sought), where("email", "=", sought.toLowerCase())]))
    .executeTakeFirst();
  if (byKey !== undefined) return byKey.id;
  const like = (pattern: string) =>
    sql<boolean>`(lower(name) like ${pattern.toLowerCase()} escape '\\' or name like ${pattern} escape '\\')`;
  const escaped = sought.replaceAll(/[\\%_]/g, "\\$&");
  const named = (pattern: string) =>
    db
      .selectFrom("accounts")
      .select(["id", "email", "name"])
      .where(like(pattern))
      .orderBy("id")
      .limit(namedMax + 1)
      .execute();
  const exact = await named(escaped);
  const [only] = exact;
  if (only !== undefined && exact.length === 1) return only.id;
  const near = exact.length > 0 ? exact : await named(`%${escaped}%`);
  const names = near.slice(0, namedMax).map((one) => (exact.length > 0 ? one.id : accountLabel(one)));
  const list = `${names.join(", ")}${near.length > namedMax ? " and others" : ""}`;
  const message =
    exact.length > 0
      ? `Several accounts have the name ${quoteValue(sought)}: ${list}; use an id`
      : `There is no account ${quoteValue(sought)}${near.length === 0 ? "" : `; there is ${list}`}`;
  throw new GatewayError("invalid_request", message, { param });
}

type ModelSource = Pick<HttpDeps, "kernel" | "snapshot">;

/** The models of the gateway by their names. */
export function modelNamesOf({ kernel: { registry }, snapshot }: ModelSource): ModelNames {
  return getModelNames({ plugins: snapshot().plugins, registry });
}

/** @throws {GatewayError} `invalid_request` for a name in the list that no model will ever have. */
export function checkNames(deps: ModelSource, allowed: readonly string[]): void {
  const names = modelNamesOf(deps);
  for (const name of allowed) names.checkPossible(name, "allowed_models");
}

/**
 * The id of a model that a rule is about; an unknown name is kept as it is.
 *
 * @throws {GatewayError} `invalid_request` for a name that no model will ever have.
 */
export function idOfRuledModel(deps: ModelSource, name: string): string {
  modelNamesOf(deps).checkPossible(name, "model");
  return idOfModel(deps, name);
}

/** Returns the id of a model by any of its names; an unknown name is returned as it is. */
export function idOfModel(deps: ModelSource, name: string): string {
  return modelNamesOf(deps).find(name)?.id ?? name;
}

/**
 * The id of a model whose calls a limit counts.
 *
 * @throws {GatewayError} `invalid_request` for a virtual model, and for a name that no model will ever have.
 */
export function idOfCountedModel(deps: ModelSource, name: string): string {
  if (!deps.kernel.registry.virtualModels.has(name)) return idOfRuledModel(deps, name);
  throw new GatewayError(
    "invalid_request",
    `${quoteValue(name)} is a virtual model, whose calls are counted at the models that serve them; limit these`,
    { param: "model" },
  );
}

/**
 * A body whose list of models has ids, whatever names of them were written. Names that no model has are logged.
 *
 * @param by Who writes it, for the log.
 */
export function withModelIds<Body extends { readonly allowed_models?: readonly string[] | null | undefined }>(
  deps: ModelSource & Pick<HttpDeps, "log">,
  body: Body,
  by: string,
): Body {
  if (body.allowed_models == null) return body;
  checkNames(deps, body.allowed_models);
  const onUnknown = (message: string) =>
    deps.log.warn("unknown_model", { message: `A list of models was written, but ${message}`, by });
  return { ...body, allowed_models: modelNamesOf(deps).toIds(body.allowed_models, { onUnknown }) };
}

/** Display name of a model that an id stands for; the id of one that is not served any more. */
export function displayNameOf(deps: ModelSource, id: string): string {
  return nameOfModel(deps, id) ?? id;
}

/** Display name of a model of the log; undefined for one that nobody knows any more. */
export function nameOfModel(deps: ModelSource, id: string): string | undefined {
  const model = modelNamesOf(deps).find(id);
  return model && getDisplayName(model);
}

interface RequestQuery {
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  readonly session?: string | undefined;
  readonly tag?: string | undefined;
  readonly end_user?: string | undefined;
  readonly agent?: string | undefined;
  readonly status?: string | undefined;
  readonly error?: string | undefined;
}

/**
 * The parts of a filter of the request log that both APIs write alike. Calls of a virtual model are found by the name that their clients sent.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function toRequestFilter(deps: ModelSource, query: RequestQuery): RequestFilter {
  const { model, status } = query;
  const isVirtual = model !== undefined && deps.kernel.registry.virtualModels.has(model);
  return {
    keyId: query.key,
    model: isVirtual ? undefined : model && idOfModel(deps, model),
    requestedModel: isVirtual ? model : undefined,
    session: query.session,
    tag: query.tag,
    endUser: query.end_user,
    agent: query.agent,
    status: status === undefined ? undefined : readStatus(status),
    errorCode: query.error,
  };
}

/** @throws {GatewayError} `invalid_request` */
function readStatus(text: string): StatusFilter {
  const status = parseStatusFilter(text);
  if (status !== undefined) return status;
  throw new GatewayError("invalid_request", `status is ${quoteValue(text)}, expected ${statusForms}`, {
    param: "status",
  });
}

/** A time in ISO 8601. @throws {GatewayError} `invalid_request` */
export function readMoment(text: string, param: string): number {
  const at = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw invalid(param, "is not a time such as 2027-01-31T00:00:00Z");
}

function invalid(param: string, error: string): GatewayError {
  return new GatewayError("invalid_request", `${param} ${error}`, { param });
}
