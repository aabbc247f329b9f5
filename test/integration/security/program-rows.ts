import { createHash } from "node:crypto";
import type { InProcessGateway } from "../../support/in-process.ts";

type Row = { body?: unknown; id?: () => string | Promise<string> };
type RowOf<Made> = (status: number, row?: Row) => Made;

interface Parts<Made> {
  readonly open: RowOf<Made>;
  readonly session: RowOf<Made>;
  /** The row with another status for a member of the member's team. */
  readonly forTeam: (row: Made, status: number) => Made;
  /** The row for what belongs to the member's account. */
  readonly own: (status: number, row: Row) => Made;
}

/** The routes by which programs are signed in, for the table of authorization. */
export function programRows<Made>(
  { open, session, own, forTeam }: Parts<Made>,
  { gateway, member }: { gateway: () => InProcessGateway; member: () => string },
): Record<string, Made> {
  const oauth = ["{api}", "", "/api"].flatMap((prefix) => {
    return [
      [`GET ${prefix}/.well-known/oauth-authorization-server`, open(200)],
      // Without a form.
      [`POST ${prefix}/oauth/device_authorization`, open(400)],
      [`POST ${prefix}/oauth/token`, open(400)],
      [`POST ${prefix}/oauth/revoke`, open(200)],
    ] as const;
  });
  // Guesses are bounded, and there is one for each caller.
  const device = async () => {
    const { store, baseUrl } = gateway();
    await store.db.deleteFrom("sign_in_attempts").execute();
    await store.db.deleteFrom("oauth_requests").execute();
    const form = new URLSearchParams({ surface: "claude_code" });
    const response = await fetch(`${new URL(baseUrl).origin}/oauth/device_authorization`, {
      method: "POST",
      body: form,
    });
    code = ((await response.json()) as { user_code: string }).user_code;
    return "";
  };
  let code = "";
  const challenge = createHash("sha256").update("a verifier").digest("base64url");
  const asked = { client_id: "codex", redirect_uri: "http://127.0.0.1:1/callback", code_challenge: challenge };
  const path = "/dashboard/api/programs";
  return {
    ...Object.fromEntries(oauth),
    [`POST ${path}/device`]: session(200, { id: device, body: () => ({ user_code: code }) }),
    [`POST ${path}/device/deny`]: session(200, { id: device, body: () => ({ user_code: code }) }),
    // Only for an account of one's own, which this is for the member and their team.
    [`POST ${path}/device/approve`]: forTeam(
      own(200, { id: device, body: () => ({ user_code: code, account: member() }) }),
      200,
    ),
    [`POST ${path}/authorize`]: session(200, { body: asked }),
    [`POST ${path}/authorize/approve`]: forTeam(own(200, { body: () => ({ ...asked, account: member() }) }), 200),
  };
}
