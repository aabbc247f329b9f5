import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { type SmtpSink, startSmtpSink } from "../../support/smtp-sink.ts";
import { teamOfAda } from "./team-people.ts";

/** Passwords cost a core for a while, also on a machine that has other work. */
const api = "/dashboard/api";
let sink: SmtpSink;
let env: Record<string, string>;
beforeAll(async () => {
  sink = await startSmtpSink();
  const server = { SMTP_URL: `smtp://127.0.0.1:${sink.port}`, SMTP_FROM: "gate@example.org" };
  env = { ...server, PUBLIC_URL: "https://gate.example.com" };
});
afterAll(() => sink.stop());

const bodyOf = (text: string) => text.replaceAll("=\n", "").replaceAll("=3D", "=");

describe("an invitation", () => {
  test("to a team is sent to its address, and the link in the mail is good", async () => {
    const { ada, ben, store } = await teamOfAda(env);
    expect(await ada.json(`${api}/team`)).toMatchObject({ can_mail: true });
    const name = "Win\r\nBcc: x@y.example http://evil.example/now and www.evil.example";
    await store.db.updateTable("accounts").set({ name }).where("id", "=", ada.account.id).execute();
    const path = `${api}/team/invitations?mail=send`;
    const sent = await ada.post(path, { role: "member", email: " Ben@Example.org " });
    const { token, mail_error } = (await sent.json()) as { token: string; mail_error: unknown };
    expect(mail_error).toBeNull();
    const mail = sink.mails.at(-1);
    expect(mail).toMatchObject({ from: "gate@example.org", to: ["Ben@example.org"] });
    const text = bodyOf(mail?.text ?? "");
    expect(text).toContain(`https://gate.example.com/#team=${token}`);
    expect(text).toContain(
      "ada@example.org invites you to the team Win Bcc: x y example http evil example now and www evil exam on",
    );
    expect(text).not.toMatch(/^Bcc|evil\.example/m);
    expect((await ben.post(`${api}/teams/join`, { token })).status).toBe(200);
    await expectError(await ada.post(path, { role: "member" }), { status: 400, says: "email is missing" });
    // A member does not see whether it could be sent, as they invite nobody.
    expect(await ben.json(`${api}/team`)).toMatchObject({ can_mail: false });
  });

  test("to sign in is sent to the address of the account by administrators", async () => {
    const { enter, carl } = await teamOfAda(env);
    const admin = await enter("admin@example.org", "admin");
    const path = `${api}/admin/accounts/${carl.account.id}/invite`;
    const sent = (await (await admin.post(`${path}?mail=send`)).json()) as { token: string };
    expect(sent).toMatchObject({ mail_error: null });
    expect(sink.mails.at(-1)).toMatchObject({ to: ["carl@example.org"] });
    expect(bodyOf(sink.mails.at(-1)?.text ?? "")).toContain(`https://gate.example.com/#invitation=${sent.token}`);
    const { length } = sink.mails;
    expect(await (await admin.post(path)).json()).toMatchObject({ mail_error: null });
    expect(sink.mails).toHaveLength(length);
    await expectError(await carl.post(`${path}?mail=send`), { status: 403, code: "forbidden" });
  });

  test("stays good when the mail server refuses it", async () => {
    const { ada, ben } = await teamOfAda(env);
    sink.refuse(true);
    const sent = await ada.post(`${api}/team/invitations?mail=send`, { role: "member", email: "ben@example.org" });
    sink.refuse(false);
    const { token, mail_error } = (await sent.json()) as { token: string; mail_error: string };
    expect([sent.status, mail_error]).toEqual([200, "The mail server did not accept the message (EENVELOPE, 550)"]);
    expect((await ben.post(`${api}/teams/join`, { token })).status).toBe(200);
  });

  test("is not sent without a mail server or PUBLIC_URL, nor more often than twenty times an hour", async () => {
    const fields = { role: "member", email: "ben@example.org" };
    for (const missing of [{}, { ...env, PUBLIC_URL: "" }]) {
      const { ada } = await teamOfAda(missing);
      expect(await ada.json(`${api}/team`)).toMatchObject({ can_mail: false, invitations: [] });
      const refused = await ada.post(`${api}/team/invitations?mail=send`, fields);
      await expectError(refused, { status: 409, code: "conflict", says: "PUBLIC_URL" });
      expect(await ada.json(`${api}/team`)).toMatchObject({ invitations: [] });
    }
    const { ada, clock } = await teamOfAda(env);
    const invite = async () => (await ada.post(`${api}/team/invitations?mail=send`, fields)).status;
    const statuses: number[] = [];
    for (let sent = 0; sent < 21; sent++) statuses.push(await invite());
    expect(statuses).toEqual([...Array(20).fill(200), 429]);
    clock.pass(3_600_000);
    expect(await invite()).toBe(200);
  });
});
