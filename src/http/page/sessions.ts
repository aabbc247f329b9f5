import { Elysia } from "elysia";
import { GatewayError } from "../../contract/index.ts";
import { type DeskGround, signedIn } from "../session.ts";
import { isoOf } from "./figures.ts";

const detail = { hide: true };

/** The browsers in which a person is signed in. */
export function sessionsController(ground: DeskGround) {
  const { desk } = ground;
  return new Elysia({ prefix: "/sessions" })
    .use(signedIn(ground))
    .get(
      "",
      async ({ visitor }) => ({
        data: (await desk.listSessions(visitor.userId)).map(({ id, createdAt, expiresAt, userAgent }) => ({
          id,
          created_at: isoOf(createdAt),
          expires_at: isoOf(expiresAt),
          user_agent: userAgent ?? null,
          is_this_one: id === visitor.sessionId,
        })),
      }),
      { detail },
    )
    .delete(
      "/:id",
      async ({ visitor, params: { id } }) => {
        if (await desk.endSession(visitor.userId, id)) return { id };
        throw new GatewayError("not_found", "Nobody is signed in there any more");
      },
      { detail },
    );
}
