import type { Store } from "../../../src/db/index.ts";
import { teamActions } from "../../../src/tenants/index.ts";

type RowOf<Row> = (status: number, row?: { body?: unknown; id?: () => string | Promise<string> }) => Row;
type TeamMember<Row> = (row: Row, status: number) => Row;

interface Parts<Row> {
  readonly session: RowOf<Row>;
  readonly own: (status: number, row: { body?: unknown; id?: () => string | Promise<string> }) => Row;
  readonly admin: RowOf<Row>;
  readonly ownSignIn: (row: Row) => Row;
  /** The row with another status for a member of the member's team who is no admin of it. */
  readonly forTeam: TeamMember<Row>;
}

/** The people of the member's team: who calls as its member, and somebody whom the routes are about. */
export interface TeamIds {
  readonly member: string;
  readonly "team member": string;
  readonly mate: string;
}

/** The routes of teams, for the table of authorization. */
export function teamRows<Row>(
  { session, own, admin, ownSignIn, forTeam }: Parts<Row>,
  { store, ids }: { readonly store: () => Store; readonly ids: () => TeamIds },
): Record<string, Row> {
  const mate = async () => {
    await joinTeam(store(), ids().member, ids().mate);
    return ids().mate;
  };
  const invitation = async () => {
    const by = { accountId: "cli", role: "owner", isOperator: true } as const;
    await store().db.deleteFrom("team_invitations").execute();
    return (await teamActions(store(), Date.now).invite(by, { accountId: ids().member, role: "member" })).id;
  };
  const path = "/dashboard/api/team";
  const adminPath = "/dashboard/api/admin/accounts/:id/team";
  const inTeam = (of: () => Promise<string>) => async () => `${ids().member} ${await of()}`;
  const body = { role: "member" };
  const budget = { budget_usd: null, budget_period: "month" };
  const elsewhere = { body: () => ({ account: ids().member }) };
  return {
    [`GET ${path}`]: session(200),
    // These accounts are people's own, whose names are not a team's.
    [`PATCH ${path}`]: forTeam(session(409, { body: { name: "Search" } }), 403),
    [`POST ${path}/invitations`]: forTeam(session(200, { body }), 403),
    [`PUT ${path}/budget`]: forTeam(session(200, { body: budget }), 403),
    [`DELETE ${path}/invitations/:id`]: forTeam(own(200, { id: invitation }), 403),
    [`PATCH ${path}/people/:id`]: forTeam(own(200, { id: mate, body }), 403),
    [`DELETE ${path}/people/:id`]: forTeam(own(200, { id: mate }), 403),
    "GET /dashboard/api/teams": session(200),
    // Where anybody may sign up.
    "POST /dashboard/api/teams": session(200, { body: { name: "Search" } }),
    // Only into an account of one's own, which this is for the member and their team.
    "POST /dashboard/api/teams/switch": forTeam(ownSignIn(own(200, elsewhere)), 200),
    "POST /dashboard/api/teams/join": session(404, { body: { token: "unknown" } }),
    "POST /dashboard/api/teams/leave": forTeam(session(409, { id: () => rejoin(store(), ids()) }), 200),
    [`GET ${adminPath}`]: admin(200, { id: () => ids().member }),
    [`POST ${adminPath}/invitations`]: admin(200, { id: () => ids().member, body }),
    [`DELETE ${adminPath}/invitations/:invitation`]: admin(200, { id: inTeam(invitation) }),
    [`PATCH ${adminPath}/people/:person`]: admin(200, { id: inTeam(mate), body }),
    [`DELETE ${adminPath}/people/:person`]: admin(200, { id: inTeam(mate) }),
  };
}

/** Makes the holder of an account a member of another one, where their sessions act from then on. */
export async function joinTeam(store: Store, accountId: string, personId: string): Promise<string> {
  const { id: user_id } = await store.db
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", personId)
    .executeTakeFirstOrThrow();
  await store.db
    .insertInto("memberships")
    .values({ account_id: accountId, user_id, role: "member", joined_at: 1 })
    .onConflict((conflict) => conflict.columns(["account_id", "user_id"]).doUpdateSet({ role: "member" }))
    .execute();
  await store.db.updateTable("sessions").set({ account_id: accountId }).where("user_id", "=", user_id).execute();
  return user_id;
}

/** Undoes what the member of the team did at the request before. */
async function rejoin(store: Store, ids: TeamIds): Promise<string> {
  await joinTeam(store, ids.member, ids["team member"]);
  return "";
}
