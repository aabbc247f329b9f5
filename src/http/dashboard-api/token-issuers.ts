import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { RateLimiter, type SessionUser } from "../../accounts/index.ts";
import type { HttpDeps } from "../deps.ts";
import { withAdminSession, withOwnerSession } from "../lifecycle/session.ts";
import { formBody } from "../lifecycle/validate.ts";

/** JSON as people write it: its own check says more than a schema could. */
const NewIssuers = formBody({ issuers: Type.String({ minLength: 2, maxLength: 65_536 }) });
/** Each makes all cached tokens stale. */
const changesPerMinuteMax = 10;

/**
 * The issuers whose tokens (JWT) are accepted: administrators see them, owners change them, since it opens every
 * account.
 */
export function tokenIssuersController(deps: HttpDeps) {
  const { tokenIssuers, now } = deps;
  const changes = new RateLimiter(changesPerMinuteMax, now, { what: "changes of issuers" });
  const toJson = async () => ({
    issuers: [...(await tokenIssuers.read())],
    from_environment: tokenIssuers.isFromEnvironment,
  });
  return new Elysia({ prefix: "/admin/token-issuers" })
    .use(new Elysia().use(withAdminSession(deps)).get("", toJson))
    .use(
      new Elysia().use(withOwnerSession(deps)).put(
        "",
        async ({ user, body: { issuers } }: { user: SessionUser; body: { issuers: string } }) => {
          changes.take(user.ownAccountId);
          await tokenIssuers.write({ accountId: user.ownAccountId, role: user.role }, issuers, now());
          return toJson();
        },
        { body: NewIssuers },
      ),
    );
}
