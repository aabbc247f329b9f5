import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { commandLine, createAudited } from "../../../src/audit/index.ts";
import type { Role } from "../../../src/db/index.ts";
import {
  createDeviceRequest,
  createEmailVerification,
  endSession,
  pollDevice,
  refreshGrant,
  revokeGrant,
} from "../../../src/identity/index.ts";
import { setPassword } from "../../../src/identity/set-password.ts";
import { signUp } from "../../../src/identity/sign-up.ts";
import {
  AdminAuthenticator,
  createAdminKey,
  createServiceAccount,
  deleteServiceAccount,
  importForeignKeys,
  revokeAdminKey,
} from "../../../src/keys/index.ts";
import { createVoucher, voidVoucher } from "../../../src/modules/payments/vouchers.ts";
import { accountActions, teamActions } from "../../../src/tenants/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { beginSession, cheapPasswords, enterAs } from "../../support/session-cookie.ts";
import { startTokenIssuer, type TestIssuer } from "../../support/token-issuer.ts";
import { joinTeam } from "./team-rows.ts";

/**
 * Everything that gives a right, and every way in which a right can end, tried with each other: `x` ends it, `-` leaves it, `.` does
 * not concern it. A new kind of right is a row, and a new way to end one is a column; both are complete or do not compile.
 */
const ends = [
  "it is revoked or deleted",
  "its time is over",
  "the account of its maker is disabled",
  "its maker loses the role that it needs",
  "the admin key that made it is revoked",
  "the admin key that made it expires",
  "the account that it is for is disabled",
  "its person is removed from the team",
  "its person leaves by the identity provider",
  "its person gets a new password",
  "the e-mail of its person changes",
  "its service account is deleted",
  "it is made again from outside after it ended and was pruned",
] as const;
type End = (typeof ends)[number];

const table = {
  //                                      revoked, time, maker off, role, key, expired key, account off, team, leaves, password, e-mail, service, again
  "API key": /*                        */ "x x x . . . x . x - - . .",
  "API key in a team": /*              */ "x x - - . . x - x - - . .",
  "API key of an admin key": /*        */ "x x - - - - x . - . . . .",
  "API key of a service account": /*   */ "x x - . . . x . x . . x .",
  "secret before a rotation": /*       */ "x x x . . . x . x - - . .",
  "imported key": /*                   */ "x x . . . . x . . . . . x",
  "key of a start": /*                 */ "x x . . . . x . . . . . x",
  "token of an issuer": /*             */ "x x . . . . x . . . . . x",
  "access token of a program": /*      */ "x x x - . . x x x x - . .",
  "refresh token of a program": /*     */ "x x x - . . x x x x - . .",
  "admin key": /*                      */ "x x x x . . . . x - - . .",
  "admin key of an admin key": /*      */ "x x x x x x . . x - - . .",
  session: /*                          */ "x x . . . . x . x x - . .",
  "session in a team": /*              */ "x x . . . . x x x x - . .",
  "invitation to set a password": /*   */ "x x x x . . . . x x x . .",
  "invitation of an admin key": /*     */ "x x x x x x . . x x x . .",
  "invitation to a team": /*           */ "x x x x . . x . x - - . .",
  "team invitation of an admin key": /**/ "x x x x x x x . x - - . .",
  "link that verifies an e-mail": /*   */ ". x . . . . x . x x x . .",
  // Money of the gateway: it is voided by itself.
  voucher: /*                          */ "x x - - . . . . - . . . .",
} as const;
type Right = keyof typeof table;

let gateway: InProcessGateway;
let issuer: TestIssuer;
let origin: string;
beforeAll(async () => {
  issuer = await startTokenIssuer();
  const issuers = [{ issuer: issuer.url, audiences: ["modelgate"], claims: { account: "email" } }];
  const env = { SANDBOX: "on", REQUESTS_PER_MINUTE: "100000", JWT_ISSUERS: JSON.stringify(issuers) };
  gateway = await startInProcess({ env: { ...env, JWT_NETWORKS: "127.0.0.0/8" } });
  origin = new URL(gateway.baseUrl).origin;
});
afterAll(async () => {
  await gateway.stop();
  issuer.stop();
});

const now = () => Date.now();
const longAgo = 1_000_000;
const dayMs = 86_400_000;
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** A right, and how it can be ended; what is absent does not concern it. */
interface Made {
  isGood(): Promise<boolean>;
  readonly revoke?: () => Promise<unknown>;
  readonly expire?: () => Promise<unknown>;
  readonly makerId?: string;
  readonly demote?: () => Promise<unknown>;
  readonly adminKeyId?: string;
  readonly accountId?: string;
  readonly leave?: () => Promise<unknown>;
  readonly personId?: string;
  readonly deleteService?: () => Promise<unknown>;
  readonly makeAgain?: () => Promise<unknown>;
}

async function person(role: Role = "member"): Promise<{ id: string; email: string; role: Role }> {
  const { id, email } = await gateway.app.accounts.create({ email: `${crypto.randomUUID()}@example.org` });
  await enterAs(gateway.store, { accountId: id, role }, now());
  return { id, email, role };
}

const setRole = (accountId: string, role: Role) => () =>
  gateway.store.db.updateTable("users").set({ role }).where("account_id", "=", accountId).execute();
const change =
  (
    table: "keys" | "admin_keys" | "invitations" | "team_invitations" | "vouchers",
    id: string,
    column: "id" | "token_hash" = "id",
  ) =>
  () =>
    gateway.store.change((db) =>
      db
        .updateTable(table as "keys")
        .set({ expires_at: longAgo })
        .where(column as "id", "=", id)
        .execute(),
    );

const post = async (path: string, body: unknown) =>
  (
    await fetch(`${origin}/dashboard/api${path}`, {
      method: "POST",
      headers: { origin, "content-type": "application/json" },
      body: JSON.stringify(body),
    })
  ).status;
const isKeyGood = async (key: string) =>
  (await fetch(`${gateway.baseUrl}/key`, { headers: { authorization: `Bearer ${key}` } })).status === 200;
const isSessionGood = async (cookie: string) =>
  (await fetch(`${origin}/dashboard/api/me`, { headers: { cookie } })).status === 200;

async function apiKey(fields: { accountId: string; by?: string; serviceAccountId?: string }) {
  const { accounts } = gateway.app;
  const { id, key } = await accounts.createKey({ name: "a key", ...fields });
  return {
    id,
    key,
    made: {
      isGood: () => isKeyGood(key),
      revoke: () => accounts.revokeKey(id, "cli"),
      expire: change("keys", id),
      accountId: fields.accountId,
    },
  };
}

async function adminKey(by: Parameters<typeof createAdminKey>[1]) {
  const { store } = gateway;
  const authenticator = new AdminAuthenticator(store, now);
  const { id, key } = await createAdminKey(store, by, { name: "a key", scopes: ["all"] }, now());
  const enter = () => authenticator.authenticate(key, "127.0.0.1");
  return {
    ...{ id, key, enter },
    made: {
      isGood: () =>
        enter().then(
          () => true,
          () => false,
        ),
      revoke: () => revokeAdminKey(store, { by: commandLine, id }, now()),
      expire: change("admin_keys", id),
    },
  };
}

/** An owner with an admin key. */
async function owner() {
  const maker = await person("owner");
  const key = await adminKey({ accountId: maker.id, role: "owner" });
  return { maker, key, by: await key.enter() };
}

async function invitation(by: { accountId: string; role: Role }): Promise<Made> {
  const { store } = gateway;
  const actions = accountActions(createAudited(store, now), now);
  const guest = await gateway.app.accounts.create({ email: `${crypto.randomUUID()}@example.org` });
  const { token } = await actions.invite(by, guest.id);
  return {
    isGood: async () => (await post("/invitations/account", { token })) === 200,
    // Another one takes its place.
    revoke: () => actions.invite(commandLine, guest.id),
    expire: change("invitations", sha256(token), "token_hash"),
    personId: guest.id,
  };
}

async function teamInvitation(
  by: { accountId: string; role: Role },
  isOperator: boolean,
  teamId: string,
): Promise<Made> {
  const actions = teamActions(gateway.store, now);
  const { id, token } = await actions.invite({ ...by, isOperator }, { accountId: teamId, role: "member" });
  return {
    isGood: async () => (await post("/invitations/team", { token })) === 200,
    revoke: () => actions.deleteInvitation({ ...commandLine, isOperator: true }, teamId, id),
    expire: change("team_invitations", id),
    accountId: teamId,
  };
}

/** A team, one of its admins, and a member. */
async function team() {
  const [{ id: teamId }, admin, member] = [
    await gateway.app.accounts.create({ email: `${crypto.randomUUID()}@teams.example` }),
    await person(),
    await person(),
  ];
  for (const { id } of [admin, member]) await joinTeam(gateway.store, teamId, id);
  const operator = { ...commandLine, isOperator: true };
  const actions = teamActions(gateway.store, now);
  await actions.setRole(operator, { accountId: teamId, personId: admin.id, role: "admin" });
  await actions.setRole(operator, { accountId: teamId, personId: member.id, role: "admin" });
  const remove = (personId: string) => () =>
    actions.remove(operator, { accountId: teamId, personId, revokesKeys: false });
  const demote = (personId: string) => () => actions.setRole(operator, { accountId: teamId, personId, role: "member" });
  return { teamId, admin, member, remove, demote };
}

/** A program that a person has signed in to a team. */
async function program() {
  const { store } = gateway;
  const { teamId, member, remove, demote } = await team();
  const { cookie } = await beginSession(store, member.id, now());
  const device = await createDeviceRequest(
    store,
    { program: "codex", address: "127.0.0.1", network: member.id },
    now(),
  );
  const approved = await fetch(`${origin}/dashboard/api/programs/device/approve`, {
    method: "POST",
    headers: { origin, cookie, "content-type": "application/json" },
    body: JSON.stringify({ user_code: device.userCode, account: teamId }),
  });
  expect(approved.status).toBe(200);
  const tokens = await pollDevice(store, device.deviceCode, now());
  const made = {
    revoke: () => revokeGrant(store, tokens.accessToken),
    accountId: teamId,
    makerId: member.id,
    personId: member.id,
    demote: demote(member.id),
    leave: remove(member.id),
  };
  return { grantId: tokens.id, tokens, made };
}

const makers: Readonly<Record<Right, () => Promise<Made>>> = {
  "API key": async () => {
    const { id } = await person();
    return { ...(await apiKey({ accountId: id, by: id })).made, makerId: id, personId: id };
  },
  "API key in a team": async () => {
    const { teamId, admin, remove, demote } = await team();
    const { made } = await apiKey({ accountId: teamId, by: admin.id });
    return { ...made, makerId: admin.id, personId: admin.id, demote: demote(admin.id), leave: remove(admin.id) };
  },
  "API key of an admin key": async () => {
    const { maker, key, by } = await owner();
    const { id: accountId } = await person();
    const { made } = await apiKey({ accountId, by: by.accountId });
    return { ...made, makerId: maker.id, demote: setRole(maker.id, "member"), adminKeyId: key.id };
  },
  "API key of a service account": async () => {
    const [{ id: by }, { id: accountId }] = [await person(), await person()];
    const service = await createServiceAccount(gateway.store, { accountId, name: "ci", by }, now());
    const { made } = await apiKey({ accountId, by, serviceAccountId: service.id });
    const deleteService = () => deleteServiceAccount(gateway.store, { accountId, id: service.id, by: "cli" }, now());
    return { ...made, makerId: by, deleteService };
  },
  "secret before a rotation": async () => {
    const { id: accountId } = await person();
    const { id, made } = await apiKey({ accountId, by: accountId });
    await gateway.app.accounts.rotateKey(id, 3600, "cli");
    const expire = () =>
      gateway.store.change((db) =>
        db.updateTable("keys").set({ previous_until: longAgo }).where("id", "=", id).execute(),
      );
    return { ...made, expire, makerId: accountId, personId: accountId };
  },
  "imported key": async () => {
    const { id: accountId } = await person();
    const text = `sk-${crypto.randomUUID()}`;
    const bring = () =>
      importForeignKeys(gateway.store, [{ accountId, name: "theirs", sha256: sha256(text), isRevoked: false }], {
        ...{ now: now(), by: "cli" },
      });
    const id = (await bring()).ids.get(sha256(text)) as string;
    const revoke = () => gateway.app.accounts.revokeKey(id, "cli");
    return { isGood: () => isKeyGood(text), revoke, expire: change("keys", id), accountId, makeAgain: bring };
  },
  "key of a start": async () => {
    const { id: accountId } = await person();
    const key = `sk-mg-${crypto.randomUUID().slice(0, 8)}-${crypto.randomUUID()}`;
    const start = () => gateway.app.accounts.createKey({ accountId, name: "bootstrap key", key });
    const { id } = await start();
    const revoke = () => gateway.app.accounts.revokeKey(id, "cli");
    return { isGood: () => isKeyGood(key), revoke, expire: change("keys", id), accountId, makeAgain: start };
  },
  "token of an issuer": async () => {
    const { id: accountId, email } = await person();
    const sub = crypto.randomUUID();
    const isGood = async () => isKeyGood(await issuer.sign({ sub, email, jti: crypto.randomUUID() }));
    await isGood();
    const [key] = await gateway.app.accounts.listKeys(accountId);
    const id = key?.id as string;
    const revoke = () => gateway.app.accounts.revokeKey(id, "cli");
    return { isGood, revoke, expire: change("keys", id), accountId, makeAgain: isGood };
  },
  "access token of a program": async () => {
    const { grantId, tokens, made } = await program();
    const expire = () =>
      gateway.store.change((db) =>
        db.updateTable("oauth_grants").set({ access_expires_at: longAgo }).where("id", "=", grantId).execute(),
      );
    return { ...made, isGood: () => isKeyGood(tokens.accessToken), expire };
  },
  "refresh token of a program": async () => {
    const { grantId, tokens, made } = await program();
    let token = tokens.refreshToken;
    const isGood = async () => {
      const next = await refreshGrant(gateway.store, token, now()).catch(() => undefined);
      token = next?.refreshToken ?? token;
      return next !== undefined;
    };
    const expire = () =>
      gateway.store.db.updateTable("oauth_grants").set({ expires_at: longAgo }).where("id", "=", grantId).execute();
    return { ...made, isGood, expire };
  },
  "admin key": async () => {
    const { maker, key } = await owner();
    return { ...key.made, makerId: maker.id, demote: setRole(maker.id, "admin"), personId: maker.id };
  },
  "admin key of an admin key": async () => {
    const { maker, key, by } = await owner();
    const { made } = await adminKey(by);
    const of = { makerId: maker.id, demote: setRole(maker.id, "admin"), personId: maker.id };
    return { ...made, ...of, adminKeyId: key.id };
  },
  session: async () => {
    const { id: accountId } = await person();
    const { id, cookie } = await beginSession(gateway.store, accountId, now());
    return sessionOf({ accountId, personId: accountId, id, cookie });
  },
  "session in a team": async () => {
    const { teamId, member, remove } = await team();
    const { id, cookie } = await beginSession(gateway.store, member.id, now());
    await gateway.store.db.updateTable("sessions").set({ account_id: teamId }).where("id", "=", id).execute();
    return { ...sessionOf({ accountId: teamId, personId: member.id, id, cookie }), leave: remove(member.id) };
  },
  "invitation to set a password": async () => {
    const { id, role } = await person("owner");
    const made = await invitation({ accountId: id, role });
    return { ...made, makerId: id, demote: setRole(id, "viewer") };
  },
  "invitation of an admin key": async () => {
    const { maker, key, by } = await owner();
    return { ...(await invitation(by)), makerId: maker.id, demote: setRole(maker.id, "admin"), adminKeyId: key.id };
  },
  "invitation to a team": async () => {
    const { teamId, admin, demote } = await team();
    const made = await teamInvitation({ accountId: admin.id, role: "member" }, false, teamId);
    return { ...made, makerId: admin.id, demote: demote(admin.id), personId: admin.id };
  },
  "team invitation of an admin key": async () => {
    const [{ maker, key, by }, { teamId }] = [await owner(), await team()];
    const made = await teamInvitation(by, true, teamId);
    const demote = setRole(maker.id, "admin");
    return { ...made, makerId: maker.id, demote, adminKeyId: key.id, personId: maker.id };
  },
  "link that verifies an e-mail": async () => {
    const { store } = gateway;
    const email = `${crypto.randomUUID()}@example.org`;
    const fields = { email, password: "a long password", name: "C" };
    await signUp({ store, signUp: "open", now, passwords: cheapPasswords }, fields);
    const user = await store.db.selectFrom("users").selectAll().where("email", "=", email).executeTakeFirstOrThrow();
    const { token } = await createEmailVerification(store, { userId: user.id, email, emailVerified: false }, now());
    const { cookie } = await beginSession(store, user.account_id, now());
    // A look that takes it would be its end: the row is asked as the route asks it.
    const isGood = async () => {
      const link = store.db.selectFrom("email_verifications").selectAll().where("token_hash", "=", sha256(token));
      const isThere = (await link.where("expires_at", ">", now()).executeTakeFirst()) !== undefined;
      const account = await gateway.app.accounts.find(user.account_id);
      return isThere && account?.disabledAt === undefined && cookie !== "";
    };
    const expire = () =>
      store.db.updateTable("email_verifications").set({ expires_at: longAgo }).where("user_id", "=", user.id).execute();
    return { isGood, expire, accountId: user.account_id, personId: user.account_id };
  },
  voucher: async () => {
    const { id: makerId } = await person("owner");
    const { store } = gateway;
    const { id } = await createVoucher(store, { nanodollars: 1_000_000_000, expiresAt: now() + dayMs }, now());
    const isGood = async () => {
      const rows = store.db.selectFrom("vouchers").selectAll().where("id", "=", id).where("voided_at", "is", null);
      return (await rows.where("expires_at", ">", now()).executeTakeFirst()) !== undefined;
    };
    const demote = setRole(makerId, "member");
    return { isGood, revoke: () => voidVoucher(store, id, now()), expire: change("vouchers", id), makerId, demote };
  },
};

function sessionOf({
  accountId,
  personId,
  id,
  cookie,
}: {
  accountId: string;
  personId: string;
  id: string;
  cookie: string;
}): Made {
  const { store } = gateway;
  const expire = () =>
    store.db
      .updateTable("sessions")
      .set({ expires_at: new Date(longAgo).toISOString() })
      .where("id", "=", id)
      .execute();
  const revoke = async () => {
    const row = await store.db.selectFrom("sessions").select("user_id").where("id", "=", id).executeTakeFirstOrThrow();
    await endSession(store, row.user_id, id);
  };
  return { isGood: () => isSessionGood(cookie), revoke, expire, accountId, personId };
}

const disable = (id: string | undefined) => id && (() => gateway.app.accounts.setDisabled(id, true));

/** How each end comes about; undefined where it does not concern the right. */
const endings: Readonly<Record<End, (made: Made) => (() => Promise<unknown>) | undefined | "">> = {
  "it is revoked or deleted": ({ revoke }) => revoke,
  "its time is over": ({ expire }) => expire,
  "the account of its maker is disabled": ({ makerId }) => disable(makerId),
  "its maker loses the role that it needs": ({ demote }) => demote,
  "the admin key that made it is revoked": ({ adminKeyId: id }) =>
    id && (() => revokeAdminKey(gateway.store, { by: commandLine, id }, now())),
  "the admin key that made it expires": ({ adminKeyId: id }) => id && change("admin_keys", id),
  "the account that it is for is disabled": ({ accountId }) => disable(accountId),
  "its person is removed from the team": ({ leave }) => leave,
  "its person leaves by the identity provider": ({ makerId, personId }) => {
    const id = makerId ?? personId;
    const { setDisabled } = accountActions(createAudited(gateway.store, now), now);
    return id && (() => setDisabled(commandLine, id, true, "revoke_by_table"));
  },
  "its person gets a new password": ({ personId: accountId }) =>
    accountId &&
    (() =>
      setPassword(gateway.store, { accountId, password: "another password", temporary: false, role: "member" }, now())),
  "the e-mail of its person changes": ({ personId }) =>
    personId &&
    (() =>
      accountActions(createAudited(gateway.store, now), now).changeAccount(commandLine, personId, {
        email: `${crypto.randomUUID()}@example.net`,
      })),
  "its service account is deleted": ({ deleteService }) => deleteService,
  "it is made again from outside after it ended and was pruned": ({ revoke, makeAgain }) =>
    revoke &&
    makeAgain &&
    (async () => {
      await revoke();
      await gateway.store.change((db) =>
        db
          .updateTable("keys")
          .set({ revoked_at: longAgo, last_used_at: longAgo })
          .where("revoked_at", "is not", null)
          .execute(),
      );
      await gateway.app.accounts.pruneKeys(1);
      await makeAgain();
    }),
};

test("each right ends where it should, and is left where it should, by every way in which rights end", async () => {
  const wrong: string[] = [];
  for (const [right, row] of Object.entries(table) as [Right, string][]) {
    const cells = row.split(" ");
    expect([right, cells.length]).toEqual([right, ends.length]);
    for (const [place, end] of ends.entries()) {
      const expected = cells[place];
      const made = await makers[right]();
      if (!(await made.isGood())) wrong.push(`${right} is not good to begin with (${end})`);
      const act = endings[end](made) || undefined;
      if ((act === undefined) !== (expected === ".")) wrong.push(`${right}: ${end} concerns it: ${act !== undefined}`);
      if (act === undefined) continue;
      await act();
      const isGood = await made.isGood();
      if (isGood !== (expected === "-")) wrong.push(`${right} ${isGood ? "outlives" : "ends"} where ${end}`);
    }
  }
  expect(wrong).toEqual([]);
});
