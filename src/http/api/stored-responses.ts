import { Type } from "@sinclair/typebox";
import { GatewayError, quoteValue } from "../../contract/index.ts";
import { type ResponseItem, ResponseObject } from "../../protocols/responses/schema.ts";
import type { HttpDeps } from "../deps.ts";
import { keyRoute } from "../lifecycle/call-routes.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { jsonReply } from "../lifecycle/respond.ts";
import { responses } from "./openapi.ts";
import type { ResponseStore } from "./response-store.ts";

const listMax = 100;
const listDefault = 20;

const Deleted = Type.Object({
  id: Type.String(),
  object: Type.Literal("response"),
  deleted: Type.Literal(true),
});
const ItemList = Type.Object({
  object: Type.Literal("list"),
  data: Type.Array(Type.Object({ id: Type.String(), type: Type.String() }, { additionalProperties: true })),
  first_id: Type.String(),
  last_id: Type.String(),
  has_more: Type.Boolean(),
});
const failures = [400, 401, 404, 429, 500, 503] as const;
/** Costs nothing, so it counts sooner than the answer of a call. */
const wholeBytesMax = 64 * 1024;
const parameters = Object.entries({
  limit: Type.Integer({ minimum: 1, maximum: listMax, default: listDefault }),
  order: Type.Union([Type.Literal("asc"), Type.Literal("desc")], { default: "desc" }),
  after: Type.String({ description: "The id of the item before the page" }),
}).map(([name, schema]) => ({ name, in: "query" as const, required: false, schema: schema as never }));

/** Stored responses of an account, until they expire. Each request counts towards the limits of its caller. */
export function storedResponsesController(deps: HttpDeps, store: ResponseStore) {
  const tags = ["Calls"];
  return [
    keyRoute(deps, {
      method: "GET",
      path: "/responses/:id",
      detail: {
        summary: "A stored response",
        tags,
        responses: responses({ "application/json": ResponseObject }, failures),
      },
      answer: async ({ call, request }) => {
        const { pathname, searchParams } = parseUrl(request);
        if (searchParams.get("stream") === "true") {
          const message = "stream is true, but a stored response is only answered whole; leave it out";
          throw new GatewayError("invalid_request", message, { param: "stream" });
        }
        return jsonReply(deps, call, await store.get(call, idIn(pathname)), wholeBytesMax);
      },
    }),
    keyRoute(deps, {
      method: "DELETE",
      path: "/responses/:id",
      detail: {
        summary: "Delete a stored response",
        tags,
        responses: responses({ "application/json": Deleted }, failures),
      },
      answer: async ({ call, request }) => {
        const id = idIn(parseUrl(request).pathname);
        await store.delete(call, id);
        return jsonReply(deps, call, { id, object: "response", deleted: true });
      },
    }),
    keyRoute(deps, {
      method: "GET",
      path: "/responses/:id/input_items",
      detail: {
        summary: "The input items of a stored response",
        description: "`limit` is 1 to 100 (default 20), `order` is `asc` or `desc` (default), `after` is an item's id.",
        tags,
        parameters,
        responses: responses({ "application/json": ItemList }, failures),
      },
      answer: async ({ call, request }) => {
        const { pathname, searchParams } = parseUrl(request);
        const page = readPage(searchParams);
        const input = await store.getInput(call, idIn(pathname));
        return jsonReply(deps, call, toList(input, page), wholeBytesMax);
      },
    }),
  ];
}

/** The id as it was sent. Ids of responses have no characters that a URL escapes. */
function idIn(pathname: string): string {
  return /\/responses\/([^/]+)/.exec(pathname)?.[1] ?? "";
}

interface Page {
  limit: number;
  order: "asc" | "desc";
  after: string | null;
}

function readPage(query: URLSearchParams): Page {
  const limit = query.get("limit") ?? String(listDefault);
  const order = query.get("order") ?? "desc";
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > listMax) {
    throw invalidParameter("limit", `limit is ${quoteValue(limit)}, expected 1 to ${listMax}`);
  }
  if (order !== "asc" && order !== "desc") {
    throw invalidParameter("order", `order is ${quoteValue(order)}, expected asc or desc`);
  }
  return { limit: Number(limit), order, after: query.get("after") };
}

function toList(input: readonly ResponseItem[], { limit, order, after }: Page) {
  const items = order === "asc" ? input : input.toReversed();
  const last = after === null ? -1 : items.findIndex(({ id }) => id === after);
  if (after !== null && last === -1) {
    throw invalidParameter("after", `after is ${quoteValue(after)}, which is not an input item of the response`);
  }
  const data = items.slice(last + 1, last + 1 + limit);
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? "",
    last_id: data.at(-1)?.id ?? "",
    has_more: items.length > last + 1 + limit,
  };
}

function invalidParameter(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
