import { createAuthMiddleware, getSessionFromCtx } from "better-auth/api";
import { GatewayError } from "../contract/index.ts";
import type { Store } from "../db/index.ts";
import { countAttempt, forgetAttempts, takeAttempt } from "./attempt-limit.ts";

const totpPath = "/two-factor/verify-totp";
const codePaths = [totpPath, "/two-factor/verify-backup-code"];
/**
 * Three of a million codes are valid at a time, so a person who knows the password needs more than a year on average to
 * guess a code.
 */
const wrongCodes = { max: 5, windowMs: 600_000, what: "wrong codes for this account" };
/** Longer than a code is valid: 30 s of its own and 30 s before and after. */
const usedCodeMs = 120_000;

type Context = Parameters<typeof getSessionFromCtx>[0];

/**
 * Hooks of better-auth that limit the guessing of codes by user, and let a code of an authenticator app work once (RFC
 * 6238, section 5.2). The user is read as better-auth reads it: from the session, or from the signed cookie and its
 * stored challenge. Requests without a user are not counted, because better-auth refuses them.
 */
export function limitCodes({ store, now }: { store: Store; now: () => number }) {
  const toKey = (userId: string) => `code:${userId}`;
  return {
    before: createAuthMiddleware(async (ctx) => {
      if (!codePaths.includes(ctx.path)) return;
      const userId = await readUserId(ctx);
      if (userId === undefined) return;
      await takeAttempt(store, toKey(userId), wrongCodes, now());
      const code: unknown = ctx.body?.code;
      if (ctx.path !== totpPath || typeof code !== "string" || !/^\d{6}$/.test(code)) return;
      const { attempts } = await countAttempt(store, `used:${userId}:${code}`, usedCodeMs, now());
      if (attempts === 1) return;
      const message = "This code was already used; wait for the next one";
      throw new GatewayError("invalid_session", message, { publicCode: "invalid_code" });
    }),
    after: createAuthMiddleware(async (ctx) => {
      if (!codePaths.includes(ctx.path)) return;
      const accepted = ctx.context.returned as { user?: { id?: string } } | undefined;
      if (accepted?.user?.id !== undefined) await forgetAttempts(store, toKey(accepted.user.id));
    }),
  };
}

async function readUserId(ctx: Context): Promise<string | undefined> {
  const session = await getSessionFromCtx(ctx);
  if (session !== null) return session.user.id;
  const { name } = ctx.context.createAuthCookie("two_factor");
  const challenge = await ctx.getSignedCookie(name, ctx.context.secret);
  if (!challenge) return undefined;
  return (await ctx.context.internalAdapter.findVerificationValue(challenge))?.value;
}
