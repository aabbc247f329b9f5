import { Elysia } from "elysia";
import { GatewayError } from "../contract/index.ts";
import { chatController } from "./chat.ts";
import { cors } from "./cors.ts";
import type { HttpDeps } from "./deps.ts";
import { docs } from "./docs.bun.ts";
import { embeddingsController } from "./embeddings.ts";
import { errorHandler } from "./errors.ts";
import { filesController } from "./files.ts";
import { healthController, metricsController } from "./health.ts";
import { imagesController } from "./images.ts";
import { keyController } from "./key.ts";
import { modelsController } from "./models.ts";
import { dashboardApi } from "./page/index.ts";
import { nosniff } from "./security-headers.ts";
import { signInController } from "./sign-in.ts";
import { speechController } from "./speech.ts";
import { staticAssetsController } from "./static-assets.ts";
import { transcriptionsController } from "./transcriptions.ts";
import { usageController } from "./usage.ts";
import { webhooksController } from "./webhooks.ts";

/** The whole HTTP side: every endpoint below the base path and below `/v1`, health, and the API's description. */
export function createHttp(deps: HttpDeps) {
  const mounts = [...new Set([deps.config.basePath, "/v1"])];
  const routes: Route[] = [];
  const app = new Elysia({ normalize: false, serve: fallbackErrorHandler(deps) })
    .onError(errorHandler(deps, (path) => allowedMethods(routes, path)))
    .use(healthController(deps))
    .use(signInController(deps))
    .use(dashboardApi(deps))
    .use(webhooksController(deps));
  if (deps.metrics !== undefined) app.use(metricsController(deps.metrics));
  if (deps.site !== undefined) app.use(staticAssetsController(deps.site));
  for (const mount of mounts)
    app.group(mount, (group) => group.use(cors(deps.config.corsOrigins ?? [])).use(api(deps)));
  app.use(docs(deps));
  routes.push(...app.routes);
  return app;
}

function api(deps: HttpDeps) {
  return new Elysia()
    .use(chatController(deps))
    .use(embeddingsController(deps))
    .use(imagesController(deps))
    .use(transcriptionsController(deps))
    .use(speechController(deps))
    .use(modelsController(deps))
    .use(keyController(deps))
    .use(filesController(deps))
    .use(usageController(deps));
}

/** For what fails where no hook of Elysia sees it. Without this Bun answers with a page that shows the source. */
function fallbackErrorHandler(deps: HttpDeps) {
  return {
    development: false,
    error(error: unknown) {
      deps.log.error("unexpected", { error });
      const told = new GatewayError("internal_error", "The gateway failed; the operator finds the reason in the log");
      return Response.json(told.toBody(), {
        status: told.status,
        headers: { "cache-control": "no-store", ...nosniff },
      });
    },
  };
}

interface Route {
  path: string;
  method: string;
}

/** The methods that a path takes; none when there is no such endpoint. What a browser asks beforehand is no method of one. */
function allowedMethods(routes: readonly Route[], path: string): string[] {
  const methods = routes.filter((route) => pathMatches(route.path, path)).map((route) => route.method);
  return [...new Set(methods)].filter((method) => method !== "OPTIONS");
}

function pathMatches(pattern: string, path: string): boolean {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (pattern.endsWith("/*"))
    return wanted.slice(0, -1).every((part, i) => part === given[i]) && given.length >= wanted.length;
  return wanted.length === given.length && wanted.every((part, i) => part.startsWith(":") || part === given[i]);
}
