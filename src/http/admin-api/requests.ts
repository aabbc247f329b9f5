import { Type } from "@sinclair/typebox";
import { GatewayError, quoteValue } from "../../contract/index.ts";
import { readBudget } from "../../lib/fields.ts";
import { explainCharge, findRequests, type RequestFilter, readRequest } from "../../reports/index.ts";
import type { HttpDeps } from "../deps.ts";
import { displayNameOf, findAccountId, toRequestFilter } from "../forms/read-fields.ts";
import { ManagedRequestObject, requestFields, toManagedRequestObject, toRequestObject } from "../forms/request-json.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { type AdminApi, adminRoutes, describeRead } from "./guard.ts";
import { listOf, listParameters, readPage, readWhole, toList } from "./lists.ts";

const secondsMax = 8_640_000_000_000;
const text = (description: string) => ({ description, schema: { type: "string" } });
const moment = (description: string) => ({ description, schema: { type: "integer", minimum: 0 } });
const filterParameters = {
  project_id: text("Only this project, by its id, e-mail or name"),
  api_key_id: text("Only this API key"),
  model: text("A model by any of its names, or a virtual model"),
  provider: text("The provider that answered"),
  status: text("`ok`, `failed`, `refused`, `running`, a class such as `5xx`, or a status"),
  error: text("An error code, such as `rate_limit_exceeded`"),
  session: text("The session that the client named"),
  tag: text("The tag that the client named"),
  end_user: text("The end user that the client named"),
  agent: text("The agent of a session that the client named"),
  request_id: text("A part of the request's id, or of the client's own"),
  start_time: moment("At or after, in seconds since 1970"),
  end_time: moment("Before, in seconds since 1970"),
  min_duration_ms: moment("Minimum duration, in milliseconds"),
  min_cost_usd: text("Minimum cost at the price of the account, in dollars"),
};

/** Parts of the log that one page looks at: some 100,000 requests. A page that has found less goes on at its `last_id`. */
const readsMax = 20;

/** The request log of all projects, and the look-up of one request, as a bill or a complaint names it. */
export function organizationRequestsController(deps: HttpDeps, api: AdminApi) {
  const { store } = deps;
  const nameOfModel = (model: string) => displayNameOf(deps, model);
  const find = async (id: string) => {
    const request = await readRequest(store, id, undefined);
    if (request !== undefined) return request;
    throw new GatewayError("not_found", `There is no request ${quoteValue(id)} in the log`);
  };
  const route = adminRoutes(deps, api, { path: "/organization/requests", area: "usage" });
  return [
    route.get(
      "",
      async ({ request }) => {
        const query = parseUrl(request).searchParams;
        const { limit, after } = readPage(query);
        const last = after === undefined ? undefined : await find(after);
        const filter = await readFilter(deps, query);
        const before = last && { at: last.opened_at, id: last.id };
        const { requests, next } = await findRequests(store, filter, { limit: limit + 1, before, readsMax });
        const list = toList(requests, limit, (one) => toRequestObject(one, nameOfModel));
        return requests.length > limit || next === undefined ? list : { ...list, has_more: true, last_id: next.id };
      },
      {
        detail: describeRead("List requests, newest first", listOf(Type.Object(requestFields)), {
          description:
            "Includes running and refused requests; without prompts and answers. A page searches a bounded part of the log, and may have " +
            "fewer entries than its limit: while `has_more` is true, continue with `last_id`.",
          query: { ...listParameters, ...filterParameters },
        }),
      },
    ),
    route.get(
      "/:request_id",
      async ({ params: { request_id: id } }) => {
        const request = await find(id);
        return toManagedRequestObject(request, await explainCharge(store, request), nameOfModel);
      },
      { detail: describeRead("Retrieve a request: what it used and cost, and why it failed", ManagedRequestObject) },
    ),
  ];
}

/** @throws {GatewayError} `invalid_request` naming the parameter. */
async function readFilter(deps: HttpDeps, query: URLSearchParams): Promise<RequestFilter> {
  const read = (name: string) => query.get(name) || undefined;
  const readSeconds = (name: string) => {
    const seconds = readWhole(query, name, [0, secondsMax]);
    return seconds === undefined ? undefined : seconds * 1000;
  };
  const [project, cost] = [read("project_id"), read("min_cost_usd")];
  return {
    from: readSeconds("start_time"),
    until: readSeconds("end_time"),
    ...toRequestFilter(deps, {
      key: read("api_key_id"),
      model: read("model"),
      session: read("session"),
      tag: read("tag"),
      end_user: read("end_user"),
      agent: read("agent"),
      status: read("status"),
      error: read("error"),
    }),
    durationMsMin: readWhole(query, "min_duration_ms", [0, 1e9]),
    costNanodollarsMin: cost === undefined ? undefined : readBudget(cost, "min_cost_usd"),
    accountId: project === undefined ? undefined : await findAccountId(deps.store, project, "project_id"),
    plugin: read("provider"),
    text: read("request_id"),
  };
}
