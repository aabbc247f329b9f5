/**
 * Elysia finds the route of a request, and does nothing else: hooks of its own would read the body before it is known who asks.
 */
import type { Elysia } from "elysia";
import type { HttpDeps } from "../deps.ts";
import { errorResponse } from "./errors.ts";
import { exposeResponse } from "./headers.ts";
import type { ErrorFormat } from "./http-call.ts";
import type { Method, RequestContext, Route } from "./route.ts";

/** All routes of a server have this in common. */
interface Server {
  /** The client's format of a request whose route has no format; absent: OpenAI's envelope. */
  inboundOf(request: Request): ErrorFormat | undefined;
  /** Origins whose pages may read the responses; none by default. */
  readonly corsOrigins?: readonly string[];
}

/** Adds routes to a server. */
export function mount(
  app: Elysia,
  deps: HttpDeps,
  routes: readonly Route[],
  { inboundOf, corsOrigins = [] }: Server,
): void {
  const serve = async (route: Route, context: RequestContext): Promise<Response> => {
    const response = await answerRoute(deps, route, context, inboundOf);
    return corsOrigins.length === 0 ? response : exposeResponse(corsOrigins, response, context.request);
  };
  for (const route of routes) {
    // Elysia reads the source of a handler to find out what it needs: a request that has no parameters costs none.
    const handler = /[:*]/.test(route.path)
      ? ({ request, params }: { request: Request; params: RequestContext["params"] }) =>
          serve(route, { request, params, call: undefined })
      : ({ request }: { request: Request }) => serve(route, { request, params: noParams, call: undefined });
    app.route(route.method, route.path, handler as never);
  }
}

const noParams: RequestContext["params"] = {};

/** The response of a route, also to a request that fails. */
export async function answerRoute(
  deps: HttpDeps,
  route: Route,
  context: RequestContext,
  inboundOf: Server["inboundOf"] = () => undefined,
): Promise<Response> {
  try {
    const response = await route.answer(context);
    context.call?.end();
    return response;
  } catch (error) {
    const { request, call } = context;
    call?.end();
    const { capability, inbound = inboundOf(request) } = route;
    return await errorResponse(deps, error, { request, call, inbound, capability });
  }
}

/** The methods of a path, without OPTIONS; empty when there is no such endpoint. A path that is written out is not one with a place for an id. */
export function methodsOf({ router }: Elysia, path: string): string[] {
  const written = router.static[path];
  const methods =
    written === undefined ? allMethods.filter((method) => hasRoute(router, method, path)) : Object.keys(written);
  return methods.filter((method) => method !== "OPTIONS");
}

const allMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"] satisfies Method[];

function hasRoute(router: Elysia["router"], method: string, path: string): boolean {
  return router.http.find(method, path) !== null;
}
