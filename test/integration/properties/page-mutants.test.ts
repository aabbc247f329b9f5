import { expect, test } from "bun:test";
import { expectPrototypesClean } from "../../support/hostile.ts";
import { dashboardHttp, origin } from "../../unit/http/dashboard-http.ts";
import { mutantsOf, triedOf } from "./mutants.ts";

/** Passwords cost a core for a while. */
const attemptsMs = 900_000;
const key = {
  name: "laptop",
  expires_at: "2999-01-01T00:00:00Z",
  allowed_models: ["chat-1"],
  budget_usd: "1",
  requests_per_minute: 1,
  tokens_per_minute: 1,
  concurrent_calls: 1,
};
const bodies: Readonly<Record<string, object>> = {
  "POST /dashboard/api/keys": key,
  "PATCH /dashboard/api/keys/none": key,
  "POST /dashboard/api/vouchers/redeem": { code: "x" },
  "POST /dashboard/api/checkout": { usd: "5" },
  "POST /dashboard/api/invitations/accept": { token: "x", password: "long enough a password" },
  "POST /v1/organization/projects": { email: "new@example.org", name: "New" },
  "POST /v1/organization/projects/none/credits": { usd: "5", note: "n", reference: "r" },
  "POST /v1/organization/projects/none/reversals": { transaction_id: "credit:none:r", note: "n" },
  "POST /v1/organization/projects/none": { free_tokens_per_day: 5, status: "archived", role: "member" },
  "POST /v1/organization/vouchers": { usd: "5", expires_at: 4_102_444_800 },
  "POST /api/auth/sign-in/email": { email: "ada@example.org", password: "x", rememberMe: true, callbackURL: "/" },
  "POST /api/auth/sign-up/email": { email: "new@example.org", name: "New", password: "x" },
  "POST /api/auth/change-password": { currentPassword: "x", newPassword: "y", revokeOtherSessions: true },
  "POST /api/auth/two-factor/enable": { password: "x" },
  "POST /api/auth/two-factor/disable": { password: "x" },
  "POST /api/auth/two-factor/verify-totp": { code: "123456", trustDevice: true },
  "POST /api/auth/two-factor/verify-backup-code": { code: "x", trustDevice: true },
};

test.each(Object.entries(bodies))(
  "%s with one thing that is not what it should be is refused in our form",
  async (asked, body) => {
    const { send, enter, log, clock } = await dashboardHttp({ SIGNUP: "open" });
    const admin = await enter("admin@example.org", "admin");
    const [method, path] = asked.split(" ") as [string, string];
    const headers = { origin, cookie: admin.cookie, "content-type": "application/json" };
    for (const mutant of triedOf(mutantsOf(body), Object.keys(bodies).indexOf(asked))) {
      // So that no attempt is one too many.
      clock.pass(attemptsMs);
      const sent = JSON.stringify(mutant) ?? "";
      const response = await send(path, { method, headers, body: sent });
      const failed = log.lines.filter(({ level }) => level === "error");
      const { status } = response;
      expect({ sent, isRight: status < 500 && status !== 429, failed }).toEqual({ sent, isRight: true, failed: [] });
      if (response.status >= 400) expect((await response.json()).error).toHaveProperty("message");
      expectPrototypesClean();
    }
  },
);
