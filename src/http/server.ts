import { Elysia } from "elysia";
import { GatewayError } from "../contract/index.ts";
import { chatInbound } from "../protocols/chat/inbound.ts";
import { completionsInbound } from "../protocols/completions/inbound.ts";
import { decisionsInbound } from "../protocols/decisions/inbound.ts";
import { messagesInbound } from "../protocols/messages/index.ts";
import { responsesInbound } from "../protocols/responses/index.ts";
import { createAdminApi, endRunning, keyUsageController, organizationApi } from "./admin-api/index.ts";
import { completionsController } from "./api/completions.ts";
import { docs } from "./api/docs.bun.ts";
import { embeddingsController } from "./api/embeddings.ts";
import { createFileService, filesController } from "./api/files.ts";
import { healthController, metricsController } from "./api/health.ts";
import { imageEditsController, imagesController } from "./api/images.ts";
import { keyController } from "./api/key.ts";
import { messagesController } from "./api/messages.ts";
import { modelsController } from "./api/models.ts";
import { moderationsController } from "./api/moderations.ts";
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
import { webhooksController } from "./dashboard-api/webhooks.ts";
import type { HttpDeps, Sockets } from "./deps.ts";
import { errorHandler } from "./lifecycle/errors.ts";
import { cors, nosniff } from "./lifecycle/headers.ts";
import type { ClientFormat } from "./lifecycle/http-call.ts";
import { toApiPath } from "./lifecycle/origin.ts";
import { pagesFirst, staticAssetsController } from "./lifecycle/static-assets.ts";

/** The HTTP server: the API below the base path and `/v1`, the dashboard and its API, health, metrics and the API's documentation. */
export function createHttp(parts: Omit<HttpDeps, "server">) {
  const deps: HttpDeps = { ...parts, server: (): Sockets | null => app.server };
  const mounts = [...new Set([deps.config.basePath, "/v1"])];
  let routes = new RouteTable([]);
  const endpoints = api(deps);
  const app = new Elysia({ normalize: false, serve: fallbackErrorHandler(deps) })
    .onError(
      errorHandler(deps, {
        allowedMethods: (path) => routes.methodsOf(path),
        inboundOf: (request) => inboundOf(request, deps.config.basePath),
      }),
    )
    .use(healthController(deps))
    .use(signInController(deps))
    .use(dashboardApi(deps, inbounds))
    .use(webhooksController(deps));
  if (deps.metrics !== undefined) app.use(metricsController(deps.metrics));
  if (deps.site !== undefined) {
    if (deps.config.basePath === "") app.onRequest(pagesFirst(deps.site));
    app.use(staticAssetsController(deps.site));
  }
  for (const mount of mounts)
    app.group(mount, (group) => group.use(cors(deps.config.corsOrigins ?? [])).use(endpoints));
  // Cohere's clients ask for the second version of this endpoint beside the first version of the others.
  for (const mount of mounts.filter((path) => path.endsWith("/v1"))) {
    app.group(mount.replace(/1$/, "2"), (group) => group.use(rerankController(deps)));
  }
  app.use(docs(deps, () => app.routes, inbounds));
  routes = new RouteTable(app.routes);
  return app;
}

/** The endpoints of the API with their state, built once, however many paths lead to them. */
function api(deps: HttpDeps) {
  // Another process may have been told to end a call that runs here.
  deps.store.onEndCall?.((id) => endRunning(deps.loadShedder, id));
  const counts = new CountLimiter(deps.now);
  const store = new ResponseStore(deps);
  return new Elysia()
    .use(exchangeControllers(deps, inbounds))
    .use(completionsController(deps))
    .use(responsesController(deps, { store, counts }))
    .use(storedResponsesController(deps, store))
    .use(messagesController(deps, counts))
    .use(embeddingsController(deps))
    .use(imagesController(deps))
    .use(imageEditsController(deps))
    .use(transcriptionsController(deps))
    .use(translationsController(deps))
    .use(speechController(deps))
    .use(moderationsController(deps))
    .use(rerankController(deps))
    .use(modelsController(deps))
    .use(keyController(deps))
    .use(keyUsageController(deps))
    .use(filesController(deps, createFileService(deps)))
    .use(usageController(deps))
    .use(organizationApi(deps, createAdminApi(deps)));
}

/** Wire formats of clients. A complete format needs nothing else here. */
const inbounds: readonly ClientFormat[] = [
  chatInbound,
  completionsInbound,
  responsesInbound,
  messagesInbound,
  decisionsInbound,
];

/**
 * Format of the client of a request, for its errors: Anthropic's clients say that they are; others by the first part of the
 * path, or by its end where their base URL may be wrong.
 */
function inboundOf({ url, headers }: Request, basePath: string): ClientFormat | undefined {
  if (headers.has("anthropic-version")) return messagesInbound;
  const path = URL.parse(url)?.pathname ?? "";
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

/** For errors outside of Elysia's hooks. Without it Bun answers with a page that shows the source. */
function fallbackErrorHandler(deps: HttpDeps) {
  return {
    development: false,
    error(error: unknown) {
      deps.log.error("unexpected", { error });
      const failure = new GatewayError("internal_error", "Internal error. Operators: see the log");
      return Response.json(failure.toBody(), {
        status: failure.status,
        headers: { "cache-control": "no-store", ...nosniff },
      });
    },
  };
}

/**
 * Finds the methods of a path. Anybody may ask for a path that there is not, so the patterns are taken apart once, and a path is
 * compared only with those that have as many segments, or that end with `*`.
 */
class RouteTable {
  readonly #exact = new Map<string, Set<string>>();
  readonly #patterns = new Map<string, { segments: readonly string[]; isOpen: boolean; methods: Set<string> }>();

  constructor(routes: readonly { path: string; method: string }[]) {
    for (const { path, method } of routes.filter((route) => route.method !== "OPTIONS")) {
      const isOpen = path.endsWith("/*");
      if (!isOpen && !path.includes("/:")) {
        this.#exact.set(path, (this.#exact.get(path) ?? new Set()).add(method));
        continue;
      }
      const segments = isOpen ? path.split("/").slice(0, -1) : path.split("/");
      const pattern = this.#patterns.get(path) ?? { segments, isOpen, methods: new Set() };
      pattern.methods.add(method);
      this.#patterns.set(path, pattern);
    }
  }

  /** The methods of a path, without OPTIONS; empty when there is no such endpoint. A path that is written out is not one of those with a place for an id. */
  methodsOf(path: string): string[] {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return [...exact];
    const segments = path.split("/");
    const fitting = this.#patterns
      .values()
      .filter(
        (pattern) =>
          (pattern.isOpen ? segments.length > pattern.segments.length : segments.length === pattern.segments.length) &&
          pattern.segments.every((part, i) => part.startsWith(":") || part === segments[i]),
      );
    return [...new Set(fitting.flatMap(({ methods }) => methods))];
  }
}
