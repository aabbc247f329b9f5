import { Type } from "@sinclair/typebox";
import { GatewayError, makeCallId } from "../../contract/index.ts";
import { readHealth } from "../../providers/index.ts";
import type { HttpDeps } from "../deps.ts";
import { dataHeaders } from "../lifecycle/headers.ts";
import type { Route } from "../lifecycle/route.ts";
import { responses } from "./openapi.ts";

const Alive = Type.Object({ status: Type.Literal("ok"), version: Type.String() });
const Sentences = Type.Array(Type.String());
const Readiness = Type.Object({
  status: Type.Union([Type.Literal("ready"), Type.Literal("degraded"), Type.Literal("unready")]),
  sandbox: Type.Boolean(),
  models: Type.Integer(),
  problems: Sentences,
  degraded: Sentences,
  warnings: Sentences,
});

const aliveDetail = {
  tags: ["Operation"],
  security: [],
  responses: responses({ "application/json": Alive }, [500]),
};

/**
 * GET /healthz is the liveness check, GET /readyz the readiness check (200 also when `degraded`, else 503 with the reasons).
 * Neither needs a key.
 */
export function healthController(deps: HttpDeps): Route[] {
  const reply = (request: Request, status: number, body: unknown) =>
    Response.json(body, {
      status,
      headers: {
        ...dataHeaders(request),
        "x-request-id": makeCallId(deps.now()),
        ...(deps.loadShedder.isDraining && { connection: "close" }),
      },
    });
  const alive = async ({ request }: { request: Request }) =>
    reply(request, 200, { status: "ok", version: deps.version });
  return [
    { method: "GET", path: "/healthz", answer: alive, detail: { ...aliveDetail, summary: "Liveness check" } },
    {
      method: "GET",
      path: "/health",
      answer: alive,
      detail: { ...aliveDetail, summary: "Liveness check, as probes of model servers call it" },
    },
    {
      method: "GET",
      path: "/readyz",
      async answer({ request }) {
        const draining = deps.loadShedder.isDraining ? ["The gateway is shutting down"] : [];
        const problems = [...draining, ...(await deps.readinessProblems())];
        const models = deps.kernel.registry.size;
        const degraded = [...(deps.degraded?.() ?? []), ...describeFailing(deps)];
        const status = problems.length > 0 ? "unready" : degraded.length > 0 ? "degraded" : "ready";
        const { sandbox, warnings } = deps.snapshot();
        const body = { status, sandbox, models, problems, degraded, warnings };
        return reply(request, problems.length > 0 ? 503 : 200, body);
      },
      detail: {
        summary: "Readiness check",
        tags: ["Operation"],
        security: [],
        responses: {
          ...responses({ "application/json": Readiness }, [500]),
          "503": {
            description: "Not ready, with the reasons",
            content: { "application/json": { schema: Readiness as never } },
          },
        },
      },
    },
  ];
}

/** The providers that answer no calls now, without their words: anybody may read them. */
function describeFailing({ providers, kernel, snapshot }: HttpDeps): string[] {
  const failing = readHealth(providers, kernel.registry, kernel.now()).flatMap(({ provider, state }) => {
    if (state === "refused") return [`The provider ${provider} refuses the gateway's key`];
    return state === "failing" ? [`The provider ${provider} is failing`] : [];
  });
  const waiting = snapshot().states.filter(({ status, error }) => status === "no_models" && error !== null);
  return [...failing, ...waiting.map(({ name }) => `The provider ${name} has not listed its models`)];
}

/** GET /metrics on the API's port, with the token of the operator. */
export function metricsController({ isAllowed, scrape }: NonNullable<HttpDeps["metrics"]>): Route[] {
  return [
    {
      method: "GET",
      path: "/metrics",
      async answer({ request }) {
        if (isAllowed(request.headers.get("authorization"))) return await scrape();
        const message = "Metrics are for the operator: send METRICS_TOKEN in the header 'Authorization: Bearer …'";
        throw new GatewayError("invalid_api_key", message);
      },
    },
  ];
}
