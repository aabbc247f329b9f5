import { type Static, Type } from "@sinclair/typebox";
import { GatewayError, quoteValue } from "../../contract/index.ts";
import type { SessionUser } from "../../identity/index.ts";
import { readKeyNames } from "../../keys/index.ts";
import { readBudget } from "../../lib/fields.ts";
import {
  explainCharge,
  type RequestDetail,
  type RequestFilter,
  readRequest,
  readRequests,
} from "../../reports/index.ts";
import { mayAdminister, maySeeAll, namesOf } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import type { DownloadFormat } from "../forms/download.ts";
import {
  CursorQuery,
  findAccountId,
  nameOfModel,
  readCursor,
  readSpan,
  spanFields,
  toRequestFilter,
} from "../forms/read-fields.ts";
import { toRequestDetailJson, toRequestJson } from "../forms/request-json.ts";
import { pageSize, toIso } from "../forms/serializers.ts";
import type { ClientFormat } from "../lifecycle/http-call.ts";
import { withSession } from "../lifecycle/session.ts";
import { streamRequests } from "./request-download.ts";

const text = Type.Optional(Type.String({ minLength: 1, maxLength: 200 }));
const Filter = Type.Object({
  ...spanFields,
  account: text,
  key: text,
  model: text,
  plugin: text,
  /** The provider of an incident: its failed calls, and those that were refused while it was paused. */
  incident: text,
  session: text,
  tag: text,
  end_user: text,
  agent: text,
  text,
  protocol: Type.Optional(Type.String({ minLength: 1, maxLength: 32 })),
  error: Type.Optional(Type.String({ pattern: "^[a-z_]{1,60}$", title: "an error code" })),
  /** At least so long, in milliseconds. */
  duration: Type.Optional(Type.String({ pattern: "^\\d{1,9}$", title: "milliseconds" })),
  /** At least so dear, in dollars. */
  cost: Type.Optional(Type.String({ minLength: 1, maxLength: 30 })),
  status: Type.Optional(Type.String({ pattern: "^(ok|failed|refused|running|[1-5]xx|[1-5]\\d\\d)$" })),
});
const PageQuery = Type.Composite([Filter, CursorQuery]);

/** The request log: of the own account, for administrators of all accounts. */
export function requestsController(deps: HttpDeps, inbounds: readonly ClientFormat[]) {
  const { store } = deps;
  const download = (format: DownloadFormat) => async (user: SessionUser, query: Static<typeof Filter>) =>
    streamRequests(deps, await readFilter(deps, { user, query, inbounds }), { format, seesAll: seesAll(user) });
  const [csv, jsonl] = [download("csv"), download("jsonl")];
  const route = withSession(deps);
  return [
    route.get(
      "/requests",
      async ({ user, query }) => {
        const filter = await readFilter(deps, { user, query, inbounds });
        const { requests, next } = await readRequests(store, filter, { limit: pageSize, before: readCursor(query) });
        const owners = seesAll(user)
          ? await namesOf(
              store,
              requests.map(({ account_id: accountId }) => accountId),
            )
          : undefined;
        return {
          data: requests.map((request) => ({
            ...toRequestJson(request, owners),
            model_name: request.model && (nameOfModel(deps, request.model) ?? null),
          })),
          next: next === undefined ? null : { before: toIso(next.at), before_id: next.id },
        };
      },
      { query: PageQuery },
    ),
    route.get("/requests.csv", ({ user, query }) => csv(user, query), { query: Filter }),
    route.get("/requests.jsonl", ({ user, query }) => jsonl(user, query), { query: Filter }),
    route.get("/requests/:id", async ({ user, params: { id } }) => {
      const request = await readRequest(store, id, seesAll(user) ? undefined : user.accountId);
      if (request === undefined) throw new GatewayError("not_found", "No request in the log has this id");
      const owners = seesAll(user) ? await namesOf(store, [request.account_id]) : undefined;
      const keyNames = await readKeyNames(store, [request.key_id]);
      return {
        ...toRequestDetailJson(request, {
          owners,
          seesWords: mayAdminister(user.role),
          charge: await explainCharge(store, request),
        }),
        key_name: keyNames.get(request.key_id) ?? null,
        model_name: request.model && (nameOfModel(deps, request.model) ?? null),
        /** The runs of the same call by other models, before or after this one, this one included; one where there was no fallback. */
        runs: await readRuns(deps, request),
        ...(await deps.requestFacts(user, id)),
      };
    }),
  ];
}

/** Models that one call tries at most, each with an id of its own. */
const runsMax = 10;

/** A call that fell back to another model goes on under its id with a number behind it. */
async function readRuns(deps: HttpDeps, { id, account_id: accountId }: RequestDetail) {
  const { store } = deps;
  const base = id.replace(/-\d{1,2}$/, "");
  const runs: RequestDetail[] = [];
  for (let place = 1; place <= runsMax; place++) {
    const run = await readRequest(store, place === 1 ? base : `${base}-${place}`, accountId);
    if (run === undefined && place > 1) break;
    if (run !== undefined) runs.push(run);
  }
  return runs.map(({ model, plugin, status, state, error_code, duration_ms, ...run }) => ({
    id: run.id,
    model: model && (nameOfModel(deps, model) ?? model),
    plugin,
    status,
    state: state ?? "refused",
    error_code,
    duration_ms,
  }));
}

function seesAll({ role }: SessionUser): boolean {
  return maySeeAll(role);
}

/** @throws {GatewayError} `forbidden` for another account than the own, `invalid_request` for an unknown one. */
async function readFilter(
  deps: HttpDeps,
  { user, query, inbounds }: { user: SessionUser; query: Static<typeof Filter>; inbounds: readonly ClientFormat[] },
): Promise<RequestFilter> {
  const { protocol } = query;
  const protocols = inbounds.map((inbound) => inbound.protocol);
  if (protocol !== undefined && !protocols.includes(protocol)) {
    const message = `protocol is ${quoteValue(protocol)}, expected one of ${protocols.join(", ")}`;
    throw new GatewayError("invalid_request", message, { param: "protocol" });
  }
  return {
    ...readSpan(query),
    ...toRequestFilter(deps, query),
    accountId: await readAccount(deps, user, query),
    plugin: query.plugin,
    incidentOf: query.incident,
    protocol,
    durationMsMin: query.duration === undefined ? undefined : Number(query.duration),
    costNanodollarsMin: query.cost === undefined ? undefined : readBudget(query.cost, "cost"),
    text: query.text,
  };
}

/** Finds an account by its id, its e-mail, its name or one of its keys; calls are indexed by account. */
export async function readAccount(
  { store }: HttpDeps,
  user: SessionUser,
  { account, key }: Pick<Static<typeof Filter>, "account" | "key">,
): Promise<string | undefined> {
  if (!seesAll(user)) {
    if (account === undefined || account === user.accountId) return user.accountId;
    throw new GatewayError("forbidden", "Only administrators can see the requests of other accounts");
  }
  if (account === undefined) {
    if (key === undefined) return undefined;
    const owner = await store.db.selectFrom("keys").select("account_id").where("id", "=", key).executeTakeFirst();
    return owner?.account_id;
  }
  return await findAccountId(store, account, "account");
}
