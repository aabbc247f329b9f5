import { Elysia } from "elysia";
import { endSession, listSessions } from "../../accounts/index.ts";
import { GatewayError } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { signedIn } from "../session.ts";
import { isoOf } from "./figures.ts";

const detail = { hide: true };

/** The browsers in which a person is signed in. */
export function sessionsController(deps: HttpDeps) {
  const { store } = deps;
  return new Elysia({ prefix: "/sessions" })
    .use(signedIn(deps))
    .get(
      "",
      async ({ visitor }) => ({
        data: (await listSessions(store, visitor.userId, deps.now())).map(
          ({ id, createdAt, expiresAt, userAgent }) => ({
            id,
            created_at: isoOf(createdAt),
            expires_at: isoOf(expiresAt),
            user_agent: userAgent ?? null,
            is_this_one: id === visitor.sessionId,
          }),
        ),
      }),
      { detail },
    )
    .delete(
      "/:id",
      async ({ visitor, params: { id } }) => {
        if (await endSession(store, visitor.userId, id)) return { id };
        throw new GatewayError("not_found", "Nobody is signed in there any more");
      },
      { detail },
    );
}
