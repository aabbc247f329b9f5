import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { GatewayError } from "../../contract/index.ts";
import { type DeskGround, signedIn } from "../session.ts";
import { keyFigures } from "./figures.ts";
import { readMoment } from "./read-fields.ts";

const detail = { hide: true };
const NewKey = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  expires_at: Type.Optional(Type.String({ maxLength: 40 })),
  allowed_models: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: 500 }),
  ),
});

/** The API keys of the account that is signed in. */
export function keysController(ground: DeskGround) {
  const { accounts } = ground.desk;
  return new Elysia({ prefix: "/keys" })
    .use(signedIn(ground))
    .get("", async ({ visitor }) => ({ data: (await accounts.listKeys(visitor.accountId)).map(keyFigures) }), {
      detail,
    })
    .post(
      "",
      ({ visitor, body }) =>
        accounts.createKey({
          accountId: visitor.accountId,
          name: body.name,
          expiresAt: body.expires_at === undefined ? undefined : readMoment(body.expires_at, "expires_at"),
          allowedModels: body.allowed_models,
        }),
      { detail, body: NewKey },
    )
    .delete(
      "/:id",
      async ({ visitor, params: { id } }) => {
        const isOwn = (await accounts.listKeys(visitor.accountId)).some((key) => key.id === id);
        if (!isOwn) throw new GatewayError("not_found", "No API key of this account has this id");
        await accounts.revokeKey(id);
        return { id };
      },
      { detail },
    );
}
