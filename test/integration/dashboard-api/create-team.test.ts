import { describe, expect, test } from "bun:test";
import { readAudit } from "../../../src/audit/index.ts";
import { addChannel } from "../../../src/modules/alerts/channels.ts";
import { createDelivery } from "../../../src/modules/alerts/deliver.ts";
import { expectError } from "../../support/expect-error.ts";
import { startSmtpSink } from "../../support/smtp-sink.ts";
import { teamOfAda, withOperator } from "./team-people.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const api = "/dashboard/api";
const open = { SIGNUP: "open" };

describe("a team that a person creates", () => {
  test("is an account of its own with keys, wallet and people, and without a free quota", async () => {
    const { ada, ben, accounts, store, signIn } = await teamOfAda(open);
    expect(await ada.json(`${api}/teams`)).toMatchObject({ can_create: true, data: [{ is_own: true }] });
    await expectError(await ada.post(`${api}/teams`, { name: "Search\n & Ranking" }), { status: 400, param: "name" });
    const created = await ada.post(`${api}/teams`, { name: "  Search  & Ranking " });
    const { account } = (await created.json()) as { account: string };
    // The session stays where it is until the user switches.
    expect(await ada.json(`${api}/me`)).toMatchObject({ account: ada.account.id });
    expect((await ada.post(`${api}/teams/switch`, { account })).status).toBe(200);
    const me = await ada.json(`${api}/me`);
    expect(me).toMatchObject({ account, account_name: "Search & Ranking", team_role: "admin", role: "member" });
    expect(await accounts.find(account)).toMatchObject({
      name: "Search & Ranking",
      freeTokensPerDay: 0,
      email: `search-ranking-${account.slice(-6)}@teams.invalid`,
    });
    const { key } = (await (await ada.post(`${api}/keys`, { name: "laptop" })).json()) as { key: string };
    expect(await accounts.authenticate(key)).toMatchObject({ accountId: account });
    expect((await ada.put(`${api}/team/budget`, { budget_usd: "5", budget_period: "day" })).status).toBe(200);
    const link = (await (await ada.post(`${api}/team/invitations`, { role: "admin" })).json()) as { token: string };
    // Its only admin cannot leave it to nobody.
    await expectError(await ada.post(`${api}/teams/leave`), { status: 409, says: "last admin" });
    expect((await ben.post(`${api}/teams/join`, { token: link.token })).status).toBe(200);
    expect((await ada.post(`${api}/teams/leave`)).status).toBe(200);
    expect(await (await signIn("ada@example.org")).json(`${api}/me`)).toMatchObject({ account: ada.account.id });
    await expectError(await ben.post(`${api}/teams/leave`), { status: 409, says: "last admin" });
    const entries = (await readAudit(store)).entries.filter(({ action }) => action === "team.create");
    expect(entries).toMatchObject([
      { accountId: ada.account.id, subject: account, detail: { name: "Search & Ranking" } },
    ]);
  });

  test("is renamed by its admins, with the address by which commands name it; a person's own account is not", async () => {
    const { ada, ben, accounts, store } = await teamOfAda(open);
    const { account } = (await (await ada.post(`${api}/teams`, { name: "Search" })).json()) as { account: string };
    await expectError(await ada.patch(`${api}/team`, { name: "Mine" }), { status: 409, says: "own account" });
    await ada.post(`${api}/teams/switch`, { account });
    const { token } = (await (await ada.post(`${api}/team/invitations`, { role: "member" })).json()) as {
      token: string;
    };
    await ben.post(`${api}/teams/join`, { token });
    await expectError(await ben.patch(`${api}/team`, { name: "Ours" }), { status: 403, code: "forbidden" });
    expect(await (await ada.patch(`${api}/team`, { name: " Поиск " })).json()).toEqual({ id: account, name: "Поиск" });
    const address = `team-${account.slice(-6)}@teams.invalid`;
    expect(await accounts.find(address)).toMatchObject({ id: account, name: "Поиск" });
    for (const name of ["", "  ", "a".repeat(61)]) {
      expect((await ada.patch(`${api}/team`, { name })).status).toBe(400);
    }
    // An account that administrators gave an address keeps it.
    await store.db.updateTable("accounts").set({ email: "team@example.org" }).where("id", "=", account).execute();
    expect((await ada.patch(`${api}/team`, { name: "Search" })).status).toBe(200);
    expect(await accounts.find("team@example.org")).toMatchObject({ name: "Search" });
    const entries = (await readAudit(store)).entries.filter(({ action }) => action === "team.rename");
    expect(entries.map(({ detail }) => detail)).toContainEqual({ name: "Поиск", name_before: "Search" });
  });

  test("is one of ten at most, also when several are created at once", async () => {
    const { ada } = await teamOfAda(open);
    const all = await Promise.all(Array.from({ length: 12 }, () => ada.post(`${api}/teams`, { name: "Search" })));
    expect(all.map(({ status }) => status).sort()).toEqual([...Array(10).fill(200), 409, 409]);
    expect((await ada.json(`${api}/teams`)).data).toHaveLength(11);
  });

  test("is created by administrators alone where sign-up is closed", async () => {
    const { ada } = await teamOfAda();
    expect(await ada.json(`${api}/teams`)).toMatchObject({ can_create: false });
    const refused = await ada.post(`${api}/teams`, { name: "Search" });
    await expectError(refused, { status: 403, code: "forbidden", says: "administrators" });
    const { admin, enter } = await withOperator();
    const viewer = await enter("viewer@example.org", "viewer");
    expect((await admin.post(`${api}/teams`, { name: "Search" })).status).toBe(200);
    expect((await viewer.post(`${api}/teams`, { name: "Search" })).status).toBe(403);
  });

  test("has its alerts sent to its admins, as nobody receives mail at its address", async () => {
    const sink = await startSmtpSink();
    const env = { ...open, SMTP_URL: `smtp://127.0.0.1:${sink.port}`, SMTP_FROM: "gate@example.org" };
    const { ada, deps } = await teamOfAda(env);
    const { account } = (await (await ada.post(`${api}/teams`, { name: "Search" })).json()) as { account: string };
    const { store, secrets: box, now } = deps;
    const channel = await addChannel(store, { box, now: now(), owner: account, kind: "email", target: {} });
    expect(await createDelivery(deps).sendTest(channel.id)).toBeUndefined();
    expect(sink.mails).toMatchObject([{ to: ["ada@example.org"] }]);
    await sink.stop();
  });
});
