import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { makeCallId } from "../kernel/index.ts";
import type { HttpGround } from "./ground.ts";
import { responses } from "./openapi.ts";
import { dataHeaders } from "./security-headers.ts";

const Alive = Type.Object({ status: Type.Literal("ok"), version: Type.String() });
const Sentences = Type.Array(Type.String());
const Readiness = Type.Object({
  status: Type.Union([Type.Literal("ready"), Type.Literal("degraded"), Type.Literal("unready")]),
  sandbox: Type.Boolean(),
  models: Type.Integer(),
  troubles: Sentences,
  degraded: Sentences,
  warnings: Sentences,
});

/**
 * GET /healthz: the process answers. GET /readyz: it can serve (also `degraded`), or 503 with what is not in order. No
 * key needed.
 */
export function healthController(ground: HttpGround) {
  const reply = (request: Request, status: number, body: unknown) =>
    Response.json(body, {
      status,
      headers: {
        ...dataHeaders(request),
        "x-request-id": makeCallId(ground.now()),
        ...(ground.gate.isLeaving && { connection: "close" }),
      },
    });
  return new Elysia()
    .get("/healthz", async ({ request }) => reply(request, 200, { status: "ok", version: ground.version }), {
      detail: {
        summary: "The process answers",
        tags: ["Operation"],
        security: [],
        responses: responses({ "application/json": Alive }, [500]),
      },
    })
    .get(
      "/readyz",
      async ({ request }) => {
        const leaving = ground.gate.isLeaving ? ["The gateway is shutting down"] : [];
        const troubles = [...leaving, ...(await ground.troubles())];
        const models = ground.kernel.registry.size;
        const degraded = ground.degraded?.() ?? [];
        const status = troubles.length > 0 ? "unready" : degraded.length > 0 ? "degraded" : "ready";
        const { sandbox } = ground;
        const warnings = ground.warnings();
        const said = { status, sandbox, models, troubles, degraded, warnings };
        return reply(request, troubles.length > 0 ? 503 : 200, said);
      },
      {
        detail: {
          summary: "It can serve",
          tags: ["Operation"],
          security: [],
          responses: {
            ...responses({ "application/json": Readiness }, [500]),
            "503": {
              description: "It cannot, and why",
              content: { "application/json": { schema: Readiness as never } },
            },
          },
        },
      },
    );
}
