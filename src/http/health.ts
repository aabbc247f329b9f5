import { Elysia } from "elysia";
import type { HttpGround } from "./ground.ts";
import { identify, type ResponseHeaders } from "./run.ts";

/** GET /healthz: the process answers. GET /readyz: it can serve, or 503 with what is not in order. No key needed. */
export function healthController(ground: HttpGround) {
  return new Elysia()
    .get(
      "/healthz",
      async ({ set }) => {
        identify(ground, set.headers as ResponseHeaders);
        return { status: "ok", version: ground.version };
      },
      {
        detail: { summary: "The process answers", tags: ["Operation"], security: [] },
      },
    )
    .get(
      "/readyz",
      async ({ set }) => {
        identify(ground, set.headers as ResponseHeaders);
        const troubles = await ground.troubles();
        if (troubles.length > 0) set.status = 503;
        const models = ground.kernel.registry.size;
        return { status: troubles.length > 0 ? "unready" : "ready", sandbox: ground.sandbox, models, troubles };
      },
      { detail: { summary: "It can serve", tags: ["Operation"], security: [] } },
    );
}
