import { type Static, Type } from "@sinclair/typebox";
import { createQuietlyAudited } from "../../audit/index.ts";
import { Address, GatewayError, nullable } from "../../contract/index.ts";
import type { ApiAdministrator } from "../../keys/index.ts";
import { findSmtp, writeSmtp } from "../../mail/index.ts";
import type { HttpDeps } from "../deps.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeRead, describeWrite } from "./guard.ts";

const NewMailServer = formBody({
  host: Type.String({ pattern: "^[A-Za-z0-9._:-]{1,253}$", title: "mail.example.com" }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  tls: Type.Boolean(),
  user: Type.Optional(Type.String({ minLength: 1, maxLength: 254 })),
  password: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })),
  from: Address,
});

const MailServerObject = Type.Object({
  object: Type.Literal("organization.mail_server"),
  server: nullable(
    Type.Object({
      host: Type.String(),
      port: Type.Integer(),
      tls: Type.Boolean(),
      user: nullable(Type.String()),
      from: Type.String(),
      has_password: Type.Boolean(),
    }),
  ),
  from_environment: Type.Boolean({ description: "Whether SMTP_URL sets it; it cannot be changed here then" }),
});

/**
 * Routes for the mail server. Only owners may set it: it carries the sign-in links of owners, so whoever sets it could
 * become one.
 */
export function mailServerController(deps: HttpDeps, api: AdminApi) {
  const { store, secrets, config } = deps;
  const audited = createQuietlyAudited(store, deps.now);
  const write = ({ accountId }: ApiAdministrator, subject: string, smtp: Parameters<typeof writeSmtp>[2]) =>
    audited(
      (scope) => writeSmtp(scope, secrets, smtp),
      () => ({ accountId, action: "mail_server.set", subject, detail: {} }),
    );
  const answer = async (): Promise<Static<typeof MailServerObject>> => {
    const smtp = await findSmtp(deps);
    const base = { object: "organization.mail_server" as const, from_environment: config.smtpUrl !== undefined };
    if (smtp === undefined) return { ...base, server: null };
    const { host, port, isTls, user, password, from } = smtp;
    return {
      ...base,
      server: { host, port, tls: isTls, user: user ?? null, from, has_password: password !== undefined },
    };
  };
  const expectOwner = ({ role }: ApiAdministrator) => {
    if (role === "owner") return;
    throw new GatewayError("forbidden", "Only owners and their admin keys can change the mail server");
  };
  const route = adminRoutes(deps, api, { path: "/organization/mail_server", area: "accounts" });
  return [
    route.get("", answer, {
      detail: describeRead("Retrieve the mail server, without its password", MailServerObject),
    }),
    route.put(
      "",
      async ({ admin, body }) => {
        expectOwner(admin);
        const { tls: isTls, ...smtp } = body;
        await write(admin, body.host, { ...smtp, isTls });
        return await answer();
      },
      {
        body: NewMailServer,
        detail: describeWrite("Set the mail server, for owners", MailServerObject, {
          description: "Without a password, the current one is kept if the host and user stay the same.",
        }),
      },
    ),
    route.delete(
      "",
      async ({ admin }) => {
        expectOwner(admin);
        await write(admin, "none", undefined);
        return await answer();
      },
      { detail: describeWrite("Remove the mail server, for owners", MailServerObject) },
    ),
  ];
}
