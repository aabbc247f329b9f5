import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readAudit } from "../../../src/audit/index.ts";
import { createDeviceRequest } from "../../../src/identity/index.ts";
import { createGrant } from "../../../src/identity/oauth/grants.ts";
import { readIdSecret } from "../../../src/keys/index.ts";
import { beginSession, enterAs } from "../../support/session-cookie.ts";
import { entra } from "./entra.ts";
import { okta } from "./okta.ts";
import { keyBy, newTeam, peopleOf, type ScimGateway, startScim } from "./scim-gateway.ts";

let scimGateway: ScimGateway;
beforeAll(async () => {
  scimGateway = await startScim();
});
afterAll(() => scimGateway.gateway.stop());

const scim: ScimGateway["scim"] = (...request) => scimGateway.scim(...request);
const manage: ScimGateway["manage"] = (...request) => scimGateway.manage(...request);
const unique = () => crypto.randomUUID().slice(0, 8);
const emailOf = (name: string) => `${name}-${unique()}@example.org`;
const listSchema = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
const errorSchema = "urn:ietf:params:scim:api:messages:2.0:Error";

async function newUser(email = emailOf("user")): Promise<string> {
  return (await scim("POST", "/Users", { userName: email })).body.id;
}

describe("the flow of Entra", () => {
  test("finds nobody, creates, changes, disables and enables a user", async () => {
    const email = emailOf("ada");
    expect((await scim("GET", entra.testConnection)).body).toEqual({
      schemas: [listSchema],
      totalResults: 0,
      startIndex: 1,
      itemsPerPage: 0,
      Resources: [],
    });
    expect((await scim("GET", entra.findUser(email))).body.totalResults).toBe(0);
    const made = await scim("POST", "/Users", entra.newUser(email, "ext-1"));
    expect([made.status, made.headers.get("content-type")]).toEqual([201, "application/scim+json"]);
    expect(made.headers.get("location")).toBe(`${scimGateway.origin}/scim/v2/Users/${made.body.id}`);
    const shown = {
      schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
      externalId: "ext-1",
      userName: email,
      displayName: "Ada Lovelace",
      emails: [{ value: email, type: "work", primary: true }],
      active: true,
      groups: [],
    };
    expect(made.body).toMatchObject(shown);
    for (const path of [entra.findUser(email.toUpperCase()), entra.findByExternalId("ext-1")]) {
      expect((await scim("GET", path)).body).toMatchObject({ totalResults: 1, Resources: [shown] });
    }
    const path = `/Users/${made.body.id}`;
    expect((await scim("PATCH", path, entra.change)).body).toMatchObject({ displayName: "Ada King", userName: email });
    expect((await scim("PATCH", path, entra.disable)).body.active).toBe(false);
    expect((await scim("PATCH", path, entra.enable)).body.active).toBe(true);
    expect((await scim("PATCH", path, entra.disableByFlag)).body.active).toBe(false);
    // Soft-deleted there, and restored.
    expect((await scim("GET", entra.findUser(email))).body.Resources[0].active).toBe(false);
    expect((await scim("PATCH", path, entra.enable)).body.active).toBe(true);
  });

  test("does not find a user that it deleted, until it creates them again or an administrator enables them", async () => {
    const email = emailOf("dee");
    const id = await newUser(email);
    const path = `/Users/${id}`;
    const group = await scim("POST", "/Groups", { displayName: "of Dee", members: [{ value: id }] });
    const seen = async () => [
      (await scim("GET", path)).status,
      (await scim("GET", entra.findUser(email))).body.totalResults,
      (await scim("GET", `/Groups/${group.body.id}`)).body.members.length,
      (await scim("GET", `/Groups?filter=members%20eq%20%22${id}%22`)).body.totalResults,
    ];
    expect(await seen()).toEqual([200, 1, 1, 1]);
    expect((await scim("DELETE", path)).status).toBe(204);
    expect(await seen()).toEqual([404, 0, 0, 0]);
    for (const answer of [
      await scim("DELETE", path),
      await scim("PATCH", path, entra.enable),
      await scim("PUT", path, { userName: email }),
    ]) {
      expect([answer.status, answer.body.status]).toEqual([404, "404"]);
    }
    const other = await scim("POST", "/Groups", { displayName: "of others" });
    const added = await scim("PATCH", `/Groups/${other.body.id}`, entra.addMember(id));
    expect([added.status, added.body.scimType]).toEqual([400, "invalidValue"]);
    const again = await scim("POST", "/Users", entra.newUser(email, "ext-dee"));
    expect([again.status, again.body.id, again.body.active]).toEqual([201, id, true]);
    expect(await seen()).toEqual([200, 1, 1, 1]);
    expect((await scim("DELETE", path)).status).toBe(204);
    const off = await scim("POST", "/Users", { userName: email, active: false });
    expect([off.status, off.body.id, off.body.active]).toEqual([201, id, false]);
    expect((await scim("DELETE", path)).status).toBe(204);
    const { accounts } = scimGateway.gateway.app;
    await accounts.setDisabled(id, false);
    expect((await scim("GET", path)).body).toMatchObject({ active: true, userName: email });
  });

  test("creates a group, and adds and removes its members one by one", async () => {
    const name = `Search ${unique()}`;
    expect((await scim("GET", entra.findGroup(name))).body.totalResults).toBe(0);
    const made = await scim("POST", "/Groups", entra.newGroup(name, "ext-g"));
    expect([made.status, made.body.displayName, made.body.externalId]).toEqual([201, name, "ext-g"]);
    const { id } = made.body;
    const [ada, ben] = [await newUser(), await newUser()];
    for (const member of [ada, ben, ada]) {
      expect((await scim("PATCH", `/Groups/${id}`, entra.addMember(member))).status).toBe(204);
    }
    const members = async () =>
      (await scim("GET", `/Groups/${id}`)).body.members.map(({ value }: { value: string }) => value);
    expect((await members()).sort()).toEqual([ada, ben].sort());
    expect((await scim("GET", entra.group(id))).body).not.toHaveProperty("members");
    expect((await scim("GET", entra.findGroup(name.toUpperCase()))).body.Resources[0].id).toBe(id);
    expect((await scim("GET", `/Users/${ada}`)).body.groups).toMatchObject([{ value: id, display: name }]);
    expect((await scim("PATCH", `/Groups/${id}`, entra.removeMember(ada))).status).toBe(204);
    expect(await members()).toEqual([ben]);
    expect((await scim("DELETE", `/Groups/${id}`)).status).toBe(204);
    expect((await scim("GET", `/Groups/${id}`)).status).toBe(404);
  });
});

describe("the flow of Okta", () => {
  test("creates a user, sends them whole, deactivates and reactivates them", async () => {
    const email = emailOf("grace");
    const { headers } = okta;
    const [users, groups] = [await scim("GET", okta.testUsers), await scim("GET", okta.testGroups)];
    expect([users.status, users.body.itemsPerPage <= 2, groups.status]).toEqual([200, true, 200]);
    expect((await scim("GET", okta.findUser(email), undefined, headers)).body.Resources).toEqual([]);
    const made = await scim("POST", "/Users", okta.newUser(email, "00u1"), headers);
    expect([made.status, made.body.displayName, made.body.externalId]).toEqual([201, "Grace Hopper", "00u1"]);
    const path = `/Users/${made.body.id}`;
    const put = await scim("PUT", path, okta.wholeUser(made.body.id, email, true), headers);
    expect(put.body).toMatchObject({ displayName: "Grace Murray", externalId: "00u1", active: true });
    expect((await scim("PATCH", path, okta.setActive(false), headers)).body.active).toBe(false);
    expect((await scim("PATCH", path, okta.setActive(true), headers)).body.active).toBe(true);
    expect((await scim("PUT", path, okta.wholeUser(made.body.id, email, false), headers)).body.active).toBe(false);
  });

  test("pushes a group with members, changes them and its name", async () => {
    const [ada, ben] = [await newUser(), await newUser()];
    const entry = (value: string) => ({ value, display: value });
    const name = `Pushed ${unique()}`;
    expect((await scim("GET", okta.findGroup(name))).body.totalResults).toBe(0);
    const made = await scim("POST", "/Groups", okta.newGroup(name, [entry(ada)]));
    const path = `/Groups/${made.body.id}`;
    const members = async () => (await scim("GET", path)).body.members.map(({ value }: { value: string }) => value);
    expect(await members()).toEqual([ada]);
    expect((await scim("PATCH", path, okta.changeMembers(ada, entry(ben)))).status).toBe(204);
    expect(await members()).toEqual([ben]);
    expect((await scim("PATCH", path, okta.replaceMembers([entry(ada)]))).status).toBe(204);
    expect((await scim("PATCH", path, okta.rename(made.body.id, `${name} 2`))).status).toBe(204);
    expect((await scim("GET", path)).body).toMatchObject({ displayName: `${name} 2`, members: [{ value: ada }] });
    const put = await scim("PUT", path, okta.newGroup(name, [entry(ben)]));
    expect(put.body).toMatchObject({ displayName: name, members: [{ value: ben }] });
    const [byMember] = (await scim("GET", `/Groups?filter=${encodeURIComponent(`members[value eq "${ben}"]`)}`)).body
      .Resources;
    expect(byMember.id).toBe(made.body.id);
  });
});

describe("somebody who leaves", () => {
  /** A person with everything that has to end, and what has not. */
  async function leaver() {
    const { gateway } = scimGateway;
    const { store } = gateway;
    const email = emailOf("leaver");
    const id = await newUser(email);
    const [team, kept] = [
      await newTeam(scimGateway, `Team ${unique()}`),
      await newTeam(scimGateway, `Kept ${unique()}`),
    ];
    for (const project of [team, kept])
      await manage("POST", `/projects/${project}/users`, { user_id: id, role: "owner" });
    await manage("POST", `/projects/${kept}/group_roles`, {
      group: `none ${unique()}`,
      role: "member",
      leavers_keys: "keep",
    });
    const own = await keyBy(gateway, id, id);
    const [inTeam, inKept] = [await keyBy(gateway, team, id), await keyBy(gateway, kept, id)];
    const ofOther = await keyBy(gateway, team, await newUser());
    const rotated = await keyBy(gateway, team, await newUser());
    const { key: secret } = await gateway.app.accounts.rotateKey(rotated.id, 0, id);
    const { cookie } = await beginSession(store, id, Date.now());
    const userId = await store.db
      .selectFrom("users")
      .select("id")
      .where("account_id", "=", id)
      .executeTakeFirstOrThrow();
    const idSecret = await readIdSecret(store);
    await store.change((db) => createGrant(db, { keyId: inTeam.id, userId: userId.id, idSecret }, Date.now()));
    await createDeviceRequest(store, { program: "codex", address: "127.0.0.1", network: "127.0.0.1" }, Date.now());
    const invitation = { role: "member", email: null, created_at: 1, expires_at: 9e15, used_by: null } as const;
    await store.db
      .insertInto("team_invitations")
      .values({ ...invitation, id: crypto.randomUUID(), token_hash: unique(), account_id: team, created_by: id })
      .execute();
    const isSignedIn = async () => {
      const response = await fetch(`${scimGateway.origin}/dashboard/api/me`, { headers: { cookie } });
      return response.status === 200;
    };
    const count = async (table: "sessions" | "oauth_grants" | "team_invitations") => {
      const query = store.db.selectFrom(table).select((select) => select.fn.countAll().as("count"));
      const row =
        table === "team_invitations"
          ? await store.db
              .selectFrom(table)
              .select((select) => select.fn.countAll().as("count"))
              .where("created_by", "=", id)
              .executeTakeFirstOrThrow()
          : await query.where("user_id" as never, "=", userId.id as never).executeTakeFirstOrThrow();
      return Number(row.count);
    };
    const isRotatedGood = async () => {
      const row = await store.db
        .selectFrom("keys")
        .select("revoked_at")
        .where("id", "=", rotated.id)
        .executeTakeFirstOrThrow();
      return row.revoked_at === null && secret !== "";
    };
    return { id, email, team, kept, own, inTeam, inKept, ofOther, isSignedIn, count, isRotatedGood };
  }
  const lastEntry = async (id: string) =>
    (await readAudit(scimGateway.gateway.store, { action: "account.disabled", subject: id })).entries[0];

  test("by SCIM loses sessions, programs, invitations and keys in teams, unless the table keeps them", async () => {
    const ada = await leaver();
    expect([await ada.isSignedIn(), await ada.inTeam.isGood(), await ada.own.isGood()]).toEqual([true, true, true]);
    expect((await scim("PATCH", `/Users/${ada.id}`, entra.disable)).status).toBe(200);
    expect(await ada.isSignedIn()).toBe(false);
    for (const table of ["sessions", "oauth_grants", "team_invitations"] as const)
      expect(await ada.count(table)).toBe(0);
    expect([await ada.own.isGood(), await ada.inTeam.isGood(), await ada.isRotatedGood()]).toEqual([
      false,
      false,
      false,
    ]);
    expect([await ada.inKept.isGood(), await ada.ofOther.isGood()]).toEqual([true, true]);
    expect((await lastEntry(ada.id))?.detail).toEqual({
      disabled: true,
      sessions: 1,
      programs: 1,
      invitations: 1,
      keys: 2,
    });
    // The same word again ends nothing, and says nothing.
    const before = await lastEntry(ada.id);
    await scim("PATCH", `/Users/${ada.id}`, entra.disable);
    expect(await lastEntry(ada.id)).toEqual(before);
    // Who comes back has their own account, and not the keys.
    await scim("PATCH", `/Users/${ada.id}`, entra.enable);
    expect([await ada.own.isGood(), await ada.inTeam.isGood(), await ada.isSignedIn()]).toEqual([true, false, false]);
  });

  test("by hand loses the keys elsewhere if asked for, and is told how many", async () => {
    const ada = await leaver();
    // Keys that were made within one millisecond have no order that a test could expect.
    const keysFrom = async (query: string) => (await manage("GET", `/users/${ada.id}/api_keys?${query}`)).body;
    const listed = await keysFrom("limit=2");
    const rest = await keysFrom(`after=${listed.last_id}`);
    expect([listed.data.length, listed.has_more, rest.data.length, rest.has_more]).toEqual([2, true, 1, false]);
    const projects = [...listed.data, ...rest.data].map(({ project }) => project.id);
    expect(projects.toSorted()).toEqual([ada.team, ada.team, ada.kept].toSorted());
    const kept = await manage("DELETE", `/users/${ada.id}`);
    expect(kept.body).toEqual({
      id: ada.id,
      object: "organization.user.deleted",
      deleted: true,
      sessions: 1,
      programs: 1,
      invitations: 1,
      revoked_keys: 0,
    });
    expect(await ada.inTeam.isGood()).toBe(true);
    const revoked = await manage("DELETE", `/users/${ada.id}?revoke_keys=true`);
    expect(revoked.body).toMatchObject({ sessions: 0, revoked_keys: 3 });
    expect([await ada.inTeam.isGood(), await ada.inKept.isGood(), await ada.ofOther.isGood()]).toEqual([
      false,
      false,
      true,
    ]);
  });

  test("cannot make a key in a team any more, also with a request that was let in before", async () => {
    const { gateway } = scimGateway;
    const ada = await leaver();
    await scim("DELETE", `/Users/${ada.id}`);
    const late = gateway.app.accounts.createKey({ accountId: ada.team, name: "late", by: ada.id });
    expect(await late.catch((error: Error) => error.message)).toContain("disabled");
    const rotation = gateway.app.accounts.rotateKey(ada.ofOther.id, 0, ada.id);
    expect(await rotation.catch((error: Error) => error.message)).toContain("disabled");
  });
});

describe("the table of groups", () => {
  async function group(members: readonly string[] = []) {
    const name = `Group ${unique()}`;
    const body = { displayName: name, members: members.map((value) => ({ value })) };
    const { id } = (await scim("POST", "/Groups", body)).body;
    const add = (member: string) => scim("PATCH", `/Groups/${id}`, entra.addMember(member));
    const remove = (member: string) => scim("PATCH", `/Groups/${id}`, entra.removeMember(member));
    return { id, name, add, remove };
  }

  test("gives the members of a group a role in a team, and takes it away", async () => {
    const team = await newTeam(scimGateway, "Search");
    const [ada, ben] = [await newUser(), await newUser()];
    const developers = await group([ada]);
    const path = `/projects/${team}/group_roles`;
    const made = await manage("POST", path, { group: developers.name.toUpperCase(), role: "member" });
    expect(made.body).toMatchObject({ object: "organization.group_role", role: "member", leavers_keys: null });
    expect(await peopleOf(scimGateway, team)).toEqual({ [ada]: "member" });
    await developers.add(ben);
    expect(await peopleOf(scimGateway, team)).toEqual({ [ada]: "member", [ben]: "member" });
    // The highest of several roles.
    const leads = await group([ada]);
    await manage("POST", path, { group: leads.name, role: "admin" });
    expect(await peopleOf(scimGateway, team)).toEqual({ [ada]: "owner", [ben]: "member" });
    const key = await keyBy(scimGateway.gateway, team, ben);
    await developers.remove(ben);
    expect([await peopleOf(scimGateway, team), await key.isGood()]).toEqual([{ [ada]: "owner" }, false]);
    // Renamed, it is another group.
    await scim("PATCH", `/Groups/${developers.id}`, okta.rename(developers.id, `Other ${unique()}`));
    await developers.add(ben);
    expect(await peopleOf(scimGateway, team)).toEqual({ [ada]: "owner" });
    await scim("PATCH", `/Groups/${developers.id}`, okta.rename(developers.id, developers.name));
    expect(await peopleOf(scimGateway, team)).toEqual({ [ada]: "owner", [ben]: "member" });
    expect((await manage("DELETE", `${path}/${made.body.id}`)).status).toBe(200);
    expect(await peopleOf(scimGateway, team)).toEqual({ [ada]: "owner" });
  });

  test("keeps the keys of a team that it hands them to", async () => {
    const team = await newTeam(scimGateway, "Search");
    const ada = await newUser();
    const { name, remove } = await group([ada]);
    await manage("POST", `/projects/${team}/group_roles`, { group: name, role: "member", leavers_keys: "keep" });
    const key = await keyBy(scimGateway.gateway, team, ada);
    await remove(ada);
    // Disabled after that, as identity providers do it.
    await scim("PATCH", `/Users/${ada}`, entra.disable);
    expect([await peopleOf(scimGateway, team), await key.isGood()]).toEqual([{}, true]);
  });

  test("never leaves a team without an admin", async () => {
    const team = await newTeam(scimGateway, "Search");
    const ada = await newUser();
    const { id, name, remove, add } = await group([ada]);
    await manage("POST", `/projects/${team}/group_roles`, { group: name, role: "admin" });
    for (const refused of [await remove(ada), await scim("DELETE", `/Groups/${id}`)]) {
      expect([refused.status, refused.body.status]).toEqual([409, "409"]);
      expect(refused.body.detail).toContain("without an admin");
    }
    expect((await scim("GET", `/Groups/${id}`)).body.members).toHaveLength(1);
    await add(await newUser());
    expect((await remove(ada)).status).toBe(204);
  });

  test("gives roles in the gateway, and never takes the last owner's", async () => {
    const { gateway } = scimGateway;
    const [ada, ben] = [await newUser(), await newUser()];
    const roleOf = async (id: string) => (await manage("GET", `/users/${id}`)).body.role;
    const viewers = await group([ada]);
    await manage("POST", "/group_roles", { group: viewers.name, role: "viewer" });
    const owners = await group([ben]);
    await manage("POST", "/group_roles", { group: owners.name, role: "owner" });
    expect([await roleOf(ada), await roleOf(ben)]).toEqual(["viewer", "owner"]);
    await viewers.remove(ada);
    expect(await roleOf(ada)).toBe("member");
    // An owner who can sign in is the last one as soon as no other can.
    const refusals = [
      await owners.remove(ben),
      await scim("PATCH", `/Users/${ben}`, entra.disable),
      await scim("DELETE", `/Users/${ben}`),
    ];
    for (const { status, body } of refusals) {
      expect([status, body.schemas, body.status]).toEqual([409, [errorSchema], "409"]);
      expect(body.detail).toContain("last owner");
    }
    const other = (await gateway.app.accounts.create({ email: emailOf("owner") })).id;
    await enterAs(gateway.store, { accountId: other, role: "owner" }, Date.now());
    expect((await owners.remove(ben)).status).toBe(204);
    expect(await roleOf(ben)).toBe("member");
  });

  test("refuses a role that cannot be, and a second one of a group", async () => {
    const team = await newTeam(scimGateway, "Search");
    const path = `/projects/${team}/group_roles`;
    expect((await manage("POST", path, { group: "g", role: "owner" })).body.error.param).toBe("role");
    expect((await manage("POST", path, { group: "  ", role: "member" })).body.error.param).toBe("group");
    expect(
      (await manage("POST", "/group_roles", { group: "g", role: "viewer", leavers_keys: "keep" })).body.error.param,
    ).toBe("leavers_keys");
    expect((await manage("POST", path, { group: "g", role: "member" })).status).toBe(200);
    expect((await manage("POST", path, { group: "G ", role: "admin" })).status).toBe(409);
  });
});

describe("a request of SCIM", () => {
  test("is refused in its own form, without a right to it", async () => {
    const { newKey, origin, gateway } = scimGateway;
    const with_ = (key: string) => ({ authorization: `Bearer ${key}` });
    const reader = await newKey("scim:read");
    expect((await scim("GET", "/Users", undefined, with_(reader))).status).toBe(200);
    const cases = [
      await scim("POST", "/Users", { userName: emailOf("x") }, with_(reader)),
      await scim("GET", "/Users", undefined, with_(await newKey("accounts:write"))),
      await scim("GET", "/Users", undefined, with_(gateway.key)),
    ];
    expect(cases.map(({ status, body }) => [status, body.status])).toEqual([
      [403, "403"],
      [403, "403"],
      [401, "401"],
    ]);
    const owner = (await gateway.app.accounts.create({ email: emailOf("owner") })).id;
    const cookie = await enterAs(gateway.store, { accountId: owner, role: "owner" }, Date.now());
    const bySession = await fetch(`${origin}/scim/v2/Users`, { headers: { cookie } });
    expect(bySession.status).toBe(401);
  });

  test.each([
    [400, "invalidFilter", "GET", "/Users?filter=userName%20sw%20%22a%22", undefined],
    [400, "invalidFilter", "GET", "/Users?filter=members%20eq%20%22a%22", undefined],
    [400, "invalidFilter", "GET", "/Groups?filter=userName%20eq%20%22a%22", undefined],
    [400, "invalidValue", "GET", "/Users?count=many", undefined],
    [400, "invalidValue", "POST", "/Users", { active: true }],
    [400, "invalidValue", "POST", "/Users", { userName: "ada" }],
    [400, "invalidSyntax", "POST", "/Users", "{"],
    [400, "invalidSyntax", "POST", "/Users", '{"userName":"a\\u0000@b.c"}'],
    [400, "invalidValue", "POST", "/Groups", {}],
    [400, "invalidValue", "POST", "/Groups", { displayName: "of nobody", members: [{ value: "acc_none" }] }],
    [404, undefined, "GET", "/Users/acc_none", undefined],
    [404, undefined, "PATCH", "/Users/acc_none", entra.disable],
    [404, undefined, "DELETE", "/Users/acc_none", undefined],
    [404, undefined, "PATCH", "/Groups/grp_none", entra.addMember("acc_none")],
    [404, undefined, "GET", "/Schemas/none", undefined],
    [404, undefined, "GET", "/Devices", undefined],
    [405, undefined, "POST", "/Users/acc_none", {}],
  ])("with a mistake gets %i %p: %s %s", async (status, type, method, path, body) => {
    const answer = await scim(method, path, body);
    expect(answer.headers.get("content-type")).toBe("application/scim+json");
    expect(answer.body).toMatchObject({ schemas: [errorSchema], status: String(status) });
    expect([answer.status, answer.body.scimType]).toEqual([status, type]);
  });

  test("for an e-mail or a name that is taken is a 409 of the type uniqueness", async () => {
    const email = emailOf("twice");
    const first = await newUser(email);
    expect((await scim("POST", "/Users", { userName: email })).body).toMatchObject({
      scimType: "uniqueness",
      status: "409",
    });
    const other = await newUser();
    expect((await scim("PUT", `/Users/${other}`, { userName: email })).body.scimType).toBe("uniqueness");
    expect(first).not.toBe(other);
    const name = `Twice ${unique()}`;
    await scim("POST", "/Groups", { displayName: name });
    expect((await scim("POST", "/Groups", { displayName: name.toLowerCase() })).body.scimType).toBe("uniqueness");
  });

  test("for the e-mail of an account that somebody merely claimed takes it back from them", async () => {
    const { gateway } = scimGateway;
    const email = emailOf("claimed");
    const { id } = await gateway.app.accounts.create({ email });
    const cookie = await enterAs(gateway.store, { accountId: id, role: "member" }, Date.now());
    await gateway.store.db.updateTable("users").set({ email_verified: 0 }).where("account_id", "=", id).execute();
    expect((await scim("GET", entra.findUser(email))).body.totalResults).toBe(0);
    expect((await scim("POST", "/Users", entra.newUser(email, "ext"))).body).toMatchObject({ id, active: true });
    expect((await fetch(`${scimGateway.origin}/dashboard/api/me`, { headers: { cookie } })).status).toBe(401);
  });

  test("for a list gets pages, and only the attributes that it asks for", async () => {
    const ids = [await newUser(), await newUser()];
    const all = (await scim("GET", "/Users?count=200")).body;
    expect(all.Resources).toHaveLength(all.totalResults);
    const last = (await scim("GET", `/Users?startIndex=${all.totalResults}&count=5`)).body;
    expect([last.startIndex, last.itemsPerPage]).toEqual([all.totalResults, 1]);
    expect(ids).toContain(last.Resources[0].id);
    const none = (await scim("GET", "/Users?count=0&startIndex=-3")).body;
    expect([none.totalResults, none.startIndex, none.Resources]).toEqual([all.totalResults, 1, []]);
    const [few] = (await scim("GET", "/Users?count=1&attributes=userName,name.formatted")).body.Resources;
    expect(Object.keys(few).sort()).toEqual(
      ["id", "meta", "schemas", "userName", ...(few.name ? ["name"] : [])].sort(),
    );
    const [most] = (await scim("GET", "/Users?count=1&excludedAttributes=emails,groups")).body.Resources;
    expect([most.userName === undefined, most.emails, most.groups]).toEqual([false, undefined, undefined]);
  });

  test("is bounded, and hostile names are kept as they are", async () => {
    expect((await scim("POST", "/Users", `{"x":"${"a".repeat(1024 * 1024)}"}`)).body.status).toBe("413");
    const many = Array.from({ length: 5001 }, (_, index) => ({ value: `acc_${index}` }));
    expect((await scim("POST", "/Groups", { displayName: unique(), members: many })).body.status).toBe("400");
    expect((await scim("POST", "/Users", `${"[".repeat(5000)}${"]".repeat(5000)}`)).body.status).toBe("400");
    const name = `<img src=x onerror=alert(1)> ' or 1=1 -- ${unique()} __proto__ \u202e`;
    const made = await scim("POST", "/Groups", { displayName: name });
    expect(made.body.displayName).toBe(name);
    expect((await scim("GET", okta.findGroup(name))).body.Resources[0].id).toBe(made.body.id);
    const hidden = await scim(
      "POST",
      "/Groups",
      `{"displayName":"${unique()}","__proto__":{"members":[{"value":"x"}]}}`,
    );
    expect([hidden.status, hidden.body.members]).toEqual([201, []]);
  });

  test("asks what the server can do, at the root and below the path of the API", async () => {
    const config = (await scim("GET", "/ServiceProviderConfig")).body;
    expect([config.patch.supported, config.bulk.supported, config.filter.maxResults]).toEqual([true, false, 200]);
    const types = (await scim("GET", "/ResourceTypes")).body;
    expect(types.Resources.map(({ name, endpoint }: { name: string; endpoint: string }) => [name, endpoint])).toEqual([
      ["User", "/Users"],
      ["Group", "/Groups"],
    ]);
    const schemas = (await scim("GET", "/Schemas")).body.Resources;
    expect(schemas.map(({ name }: { name: string }) => name)).toEqual(["User", "Group"]);
    expect((await scim("GET", `/Schemas/${schemas[0].id}`)).body).toEqual(schemas[0]);
    expect((await scim("GET", "/ResourceTypes/User")).body).toEqual(types.Resources[0]);
    const { origin, newKey } = scimGateway;
    const headers = { authorization: `Bearer ${await newKey("scim:read")}` };
    const below = await fetch(`${origin}/api/v1/scim/v2/ServiceProviderConfig`, { headers });
    expect(((await below.json()) as { meta: { location: string } }).meta.location).toBe(
      `${origin}/api/v1/scim/v2/ServiceProviderConfig`,
    );
  });
});
