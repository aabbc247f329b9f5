import { Elysia } from "elysia";
import { GatewayError } from "../contract/index.ts";
import { chatController } from "./chat.ts";
import { cors } from "./cors.ts";
import { docs } from "./docs.bun.ts";
import { embeddingsController } from "./embeddings.ts";
import { answerFailure } from "./errors.ts";
import { filesController } from "./files.ts";
import type { HttpGround } from "./ground.ts";
import { healthController } from "./health.ts";
import { imagesController } from "./images.ts";
import { keyController } from "./key.ts";
import { metricsController } from "./metrics.ts";
import { modelsController } from "./models.ts";
import { pageController } from "./page/index.ts";
import { nosniff } from "./security-headers.ts";
import { hasDesk } from "./session.ts";
import { signInController } from "./sign-in.ts";
import { siteController } from "./site.ts";
import { speechController } from "./speech.ts";
import { transcriptionsController } from "./transcriptions.ts";
import { usageController } from "./usage.ts";
import { webhooksController } from "./webhooks.ts";

/** The whole HTTP side: every endpoint below the base path and below `/v1`, health, and the API's description. */
export function createHttp(ground: HttpGround) {
  const mounts = [...new Set([ground.basePath, "/v1"])];
  const routes: Route[] = [];
  const app = new Elysia({ normalize: false, serve: lastResort(ground) })
    .onError(answerFailure(ground, (path) => methodsOf(routes, path)))
    .use(healthController(ground));
  if (ground.metrics !== undefined) app.use(metricsController(ground.metrics));
  if (hasDesk(ground)) app.use(signInController(ground)).use(pageController(ground)).use(webhooksController(ground));
  if (ground.site !== undefined) app.use(siteController(ground.site));
  for (const mount of mounts) app.group(mount, (group) => group.use(cors(ground.corsOrigins)).use(api(ground)));
  app.use(docs(ground));
  routes.push(...app.routes);
  return app;
}

function api(ground: HttpGround) {
  const ofKeys = new Elysia()
    .use(chatController(ground))
    .use(embeddingsController(ground))
    .use(imagesController(ground))
    .use(transcriptionsController(ground))
    .use(speechController(ground))
    .use(modelsController(ground))
    .use(keyController(ground))
    .use(filesController(ground));
  return hasDesk(ground) ? ofKeys.use(usageController(ground)) : ofKeys;
}

/** For what fails where no hook of Elysia sees it. Without this Bun answers with a page that shows the source. */
function lastResort(ground: HttpGround) {
  return {
    development: false,
    error(error: unknown) {
      ground.log.error("unexpected", { error });
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
function methodsOf(routes: readonly Route[], path: string): string[] {
  const methods = routes.filter((route) => pathMatches(route.path, path)).map((route) => route.method);
  return [...new Set(methods)].filter((method) => method !== "OPTIONS");
}

function pathMatches(pattern: string, path: string): boolean {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (pattern.endsWith("/*"))
    return wanted.slice(0, -1).every((part, i) => part === given[i]) && given.length >= wanted.length;
  return wanted.length === given.length && wanted.every((part, i) => part.startsWith(":") || part === given[i]);
}
