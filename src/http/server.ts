import { Elysia } from "elysia";
import { GatewayError } from "../contract/index.ts";
import { chatInbound } from "../protocols/chat/inbound.ts";
import { completionsInbound } from "../protocols/completions/inbound.ts";
import { decisionsInbound } from "../protocols/decisions/inbound.ts";
import { messagesInbound } from "../protocols/messages/index.ts";
import { responsesInbound } from "../protocols/responses/index.ts";
import { type AdminApi, createAdminApi, endRunning, keyUsageController, organizationApi } from "./admin-api/index.ts";
import { completionsController } from "./api/completions.ts";
import { docs } from "./api/docs.bun.ts";
import { embeddingsController } from "./api/embeddings.ts";
import { createFileService, filesController } from "./api/files.ts";
import { gatewaySessionController, telemetryController } from "./api/gateway-session.ts";
import { healthController, metricsController } from "./api/health.ts";
import { imageEditsController, imagesController } from "./api/images.ts";
import { keyController } from "./api/key.ts";
import { messagesController } from "./api/messages.ts";
import { modelsController } from "./api/models.ts";
import { moderationsController } from "./api/moderations.ts";
import { oauthController } from "./api/oauth.ts";
import { rerankController } from "./api/rerank.ts";
import { ResponseStore } from "./api/response-store.ts";
import { responsesController } from "./api/responses.ts";
import { CountLimiter, exchangeControllers } from "./api/serve-exchange.ts";
import { speechController } from "./api/speech.ts";
import { storedResponsesController } from "./api/stored-responses.ts";
import { transcriptionsController, translationsController } from "./api/transcriptions.ts";
import { usageController } from "./api/usage.ts";
import { dashboardApi } from "./dashboard-api/index.ts";
import { signInController } from "./dashboard-api/sign-in.ts";
import type { HttpDeps, ModuleHooks, Sockets } from "./deps.ts";
import { noRouteHandler } from "./lifecycle/errors.ts";
import { allowOrigin, nosniff } from "./lifecycle/headers.ts";
import type { ClientFormat, ErrorFormat } from "./lifecycle/http-call.ts";
import { methodsOf, mount } from "./lifecycle/mount.ts";
import { toApiPath } from "./lifecycle/origin.ts";
import { below, type Route } from "./lifecycle/route.ts";
import { pagesFirst, staticRoutes } from "./lifecycle/static-assets.ts";
import { type ListenOptions, listen } from "./listen.bun.ts";
import { type HttpModule, hooksOf } from "./module.ts";
import { ResponsesSockets } from "./responses-socket/index.ts";
import { isScimPath, scimController, scimErrorFormat } from "./scim/index.ts";

/** The HTTP server: the API below the base path and `/v1`, the dashboard and its API, health, metrics and the API's documentation. */
export function createHttp(parts: Omit<HttpDeps, "server" | keyof ModuleHooks>, modules: readonly HttpModule[]) {
  const deps: HttpDeps = { ...parts, ...hooksOf(modules), server: (): Sockets | null => app.server };
  const { basePath, corsOrigins = [] } = deps.config;
  const ofClient = (request: Request) => inboundOf(request, basePath);
  // A host may have a name of one letter.
  const app = new Elysia({ handler: { standardHostname: false } });
  app.onError(noRouteHandler(deps, { methodsOf: (path) => methodsOf(app, path), inboundOf: ofClient }));
  if (deps.site !== undefined && basePath === "") app.onRequest(pagesFirst(deps.site));
  const admin = createAdminApi(deps);
  const routes = [
    ...healthController(deps),
    ...signInController(deps),
    ...oauthController(deps),
    ...gatewaySessionController(deps),
    ...scimController(deps, admin),
    ...dashboardApi(deps, inbounds, resourcesOf(modules)),
    ...below(
      "/dashboard/api",
      modules.flatMap((module) => module.pageRoutes?.(deps) ?? []),
    ),
    ...modules.flatMap((module) => module.routes?.(deps) ?? []),
    ...(deps.metrics === undefined ? [] : metricsController(deps.metrics)),
    ...(deps.site === undefined ? [] : staticRoutes(deps.site)),
  ];
  const store = new ResponseStore(deps);
  const sockets = deps.config.responsesWebSockets === "on" ? new ResponsesSockets(deps, store) : undefined;
  const endpoints = [...api(deps, { store, modules, admin }), ...(sockets === undefined ? [] : [sockets.route])];
  const preflight: Route = {
    method: "OPTIONS",
    path: "/*",
    answer: ({ request }) => allowOrigin(corsOrigins, request),
  };
  const mounts = [...new Set([basePath, "/v1"])];
  const ofApi = [
    ...mounts.flatMap((path) => below(path, corsOrigins.length === 0 ? endpoints : [...endpoints, preflight])),
    // Cohere's clients use version 2 of this endpoint and version 1 of the others.
    ...mounts
      .filter((path) => path.endsWith("/v1"))
      .flatMap((path) => below(path.replace(/1$/, "2"), rerankController(deps))),
  ];
  const declared = [...routes, ...ofApi];
  mount(app, deps, [...routes, ...docs(deps, declared, inbounds)], { inboundOf: ofClient });
  mount(app, deps, ofApi, { inboundOf: ofClient, corsOrigins });
  return Object.assign(app, {
    declared,
    sockets,
    listen: (options: Omit<ListenOptions, "error">) => listen(app, { ...options, error: answerUnexpected(deps) }),
  });
}

/** The endpoints of the API with their state, built once, however many paths lead to them. */
function api(
  deps: HttpDeps,
  { store, modules, admin }: { store: ResponseStore; modules: readonly HttpModule[]; admin: AdminApi },
): Route[] {
  // A request to end a call may reach another process than the one that runs it.
  deps.store.onEndCall?.((id) => endRunning(deps.loadShedder, id));
  const counts = new CountLimiter(deps.now);
  return [
    ...exchangeControllers(deps, inbounds),
    ...completionsController(deps),
    ...responsesController(deps, { store, counts }),
    ...storedResponsesController(deps, store),
    ...messagesController(deps, counts),
    ...embeddingsController(deps),
    ...imagesController(deps),
    ...imageEditsController(deps),
    ...transcriptionsController(deps),
    ...translationsController(deps),
    ...speechController(deps),
    ...moderationsController(deps),
    ...rerankController(deps),
    ...modelsController(deps),
    ...keyController(deps),
    ...keyUsageController(deps),
    ...filesController(deps, createFileService(deps)),
    ...usageController(deps),
    ...telemetryController(deps),
    ...organizationApi(deps, admin, {
      resources: resourcesOf(modules),
      sections: Object.assign({}, ...modules.map(({ sections }) => sections)),
    }),
    ...modules.flatMap((module) => module.organizationRoutes?.(deps, admin) ?? []),
  ];
}

const resourcesOf = (modules: readonly HttpModule[]) => modules.flatMap(({ resources = [] }) => resources);

/** Wire formats of clients. A complete format needs nothing else here. */
const inbounds: readonly ClientFormat[] = [
  chatInbound,
  completionsInbound,
  responsesInbound,
  messagesInbound,
  decisionsInbound,
];

/**
 * Format of the client of a request, for its errors: identity providers by the path; Anthropic's clients say that they are;
 * others by the first part of the path, or by its end where their base URL may be wrong.
 */
function inboundOf({ url, headers }: Request, basePath: string): ErrorFormat | undefined {
  const path = URL.parse(url)?.pathname ?? "";
  if (isScimPath(path, basePath)) return scimErrorFormat;
  if (headers.has("anthropic-version")) return messagesInbound;
  const [, , first] = toApiPath(path, basePath).split("/");
  const ofFirst = inbounds.find(({ endpoints }) => endpoints.some((endpoint) => endpoint.split("/")[1] === first));
  return ofFirst ?? inbounds.find(({ endpoints }) => endpoints.some((endpoint) => endsAs(endpoint, path)));
}

function endsAs(pattern: string, path: string): boolean {
  const segments = pattern.split("/").slice(1);
  const lastSegments = path.split("/").slice(-segments.length);
  return (
    segments.length === lastSegments.length &&
    segments.every((part, i) => (part.startsWith(":") ? lastSegments[i] : part === lastSegments[i]))
  );
}

/** For errors outside of Elysia's hooks. */
function answerUnexpected(deps: HttpDeps): ListenOptions["error"] {
  return (error) => {
    deps.log.error("unexpected", { error });
    const failure = new GatewayError("internal_error", "Internal error. Operators: see the log");
    return Response.json(failure.toBody(), {
      status: failure.status,
      headers: { "cache-control": "no-store", ...nosniff },
    });
  };
}
