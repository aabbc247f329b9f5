import { afterAll, beforeAll, expect, test } from "bun:test";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

/** Why a route of the pages changes something without being one of the management API. */
const reasons = {
  own: "a member's own account, team, sign-in or message",
  public: "the acceptance of an invitation, by whoever has its link",
  mail: "an invitation by mail, in the name of the person who is signed in",
  team: "people and invitations of a team, as its own admins change them",
  content: "the content log, which no admin key reaches",
} as const;

/** Every such route: a new one belongs into the management API, unless it has one of these reasons. */
const writes: Readonly<Record<string, keyof typeof reasons>> = {
  "POST /programs/device": "own",
  "POST /programs/device/approve": "own",
  "POST /programs/device/deny": "own",
  "POST /programs/authorize": "own",
  "POST /programs/authorize/approve": "own",
  "POST /vouchers/redeem": "own",
  "POST /checkout": "own",
  "POST /keys": "own",
  "PATCH /keys/:id": "own",
  "DELETE /keys/:id": "own",
  "POST /keys/:id/rotate": "own",
  "POST /credentials/lookup": "own",
  "POST /credentials/revoke": "own",
  "DELETE /content": "own",
  "POST /requests/:id/content": "own",
  "DELETE /requests/:id/content": "own",
  "POST /call-sessions/:session/end": "own",
  "DELETE /sessions/:id": "own",
  "POST /email/verification": "own",
  "POST /email/verify": "own",
  "PATCH /team": "own",
  "PUT /team/budget": "own",
  "POST /team/invitations": "own",
  "DELETE /team/invitations/:id": "own",
  "PATCH /team/people/:id": "own",
  "DELETE /team/people/:id": "own",
  "POST /teams": "own",
  "POST /teams/switch": "own",
  "POST /teams/join": "own",
  "POST /teams/leave": "own",
  "PUT /alerts/rules/:id": "own",
  "POST /alerts/webhooks": "own",
  "POST /alerts/emails": "own",
  "DELETE /alerts/channels/:id": "own",
  "POST /alerts/channels/:id/test": "own",
  "POST /invitations/accept": "public",
  "POST /invitations/account": "public",
  "POST /invitations/team": "public",
  "POST /admin/accounts/:id/invite": "mail",
  "POST /admin/accounts/:id/team/invitations": "mail",
  "DELETE /admin/accounts/:id/team/invitations/:invitation": "team",
  "PATCH /admin/accounts/:id/team/people/:person": "team",
  "DELETE /admin/accounts/:id/team/people/:person": "team",
  "POST /admin/accounts/:id/content": "content",
  "DELETE /admin/accounts/:id/content": "content",
};

let gateway: InProcessGateway;
beforeAll(async () => {
  gateway = await startInProcess({ env: {} });
});
afterAll(() => gateway.stop());

test("what an operator changes on a page is changed by the management API, but for what is named here with its reason", () => {
  const routes = gateway.app.http.routes.filter(
    ({ method, path }) => path.startsWith("/dashboard/api/") && method !== "GET",
  );
  const names = routes.map(({ method, path }) => `${method} ${path.slice("/dashboard/api".length)}`);
  expect(names.sort()).toEqual(Object.keys(writes).sort());
  const ofOperators = Object.entries(writes).filter(([route]) => route.includes("/admin/"));
  expect(ofOperators.filter(([, reason]) => reason === "own" || reason === "public")).toEqual([]);
});
