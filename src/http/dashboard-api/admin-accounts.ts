import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import {
  accountKinds,
  accountOrders,
  auditedActions,
  createAudited,
  createProject,
  searchAccounts,
} from "../../accounts/index.ts";
import { formatUsd, GatewayError } from "../../contract/index.ts";
import { creditWallet } from "../../ledger/index.ts";
import type { HttpDeps } from "../deps.ts";
import { withAdminSession } from "../lifecycle/session.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type Page, streamDownload } from "./download.ts";
import { createLinkMail } from "./link-mail.ts";
import { readCredit } from "./read-fields.ts";
import { pageSize, toAccountRowJson } from "./serializers.ts";

const Search = Type.Object({
  search: Type.Optional(Type.String({ maxLength: 254 })),
  page: Type.Optional(Type.String({ pattern: "^[1-9]\\d{0,5}$" })),
  order: Type.Optional(Type.Union(accountOrders.map((order) => Type.Literal(order)))),
  kind: Type.Optional(Type.Union(accountKinds.map((kind) => Type.Literal(kind)))),
});
const csvColumns = [
  "id",
  "email",
  "name",
  "role",
  "balance_usd",
  "spend_30_days_usd",
  "last_used_at",
  "free_tokens_per_day",
  "created_at",
  "disabled_at",
] as const;
/** Without an e-mail it is a team that nobody is in yet. */
const NewAccount = formBody({
  email: Type.Optional(Type.String({ minLength: 1, maxLength: 254 })),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
});
const Usd = Type.String({ minLength: 1, maxLength: 30 });
/** `mail=send` sends the link to the e-mail of the account too. */
const Sending = Type.Object({ mail: Type.Optional(Type.Literal("send")) });
const Credit = formBody({
  usd: Usd,
  note: Type.String({ minLength: 1, maxLength: 500 }),
  reference: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
});
const Quota = formBody({ tokens: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]) });
const Disabled = formBody({ disabled: Type.Boolean() });

/** Accounts for administrators. Every change is in the audit log. */
export function adminAccountsController(deps: HttpDeps) {
  const { store, now } = deps;
  const audited = createAudited(store, now);
  const actions = auditedActions(audited, now);
  const mail = createLinkMail(deps);
  const readRows = (
    { search = "", order = "email", kind }: Static<typeof Search>,
    place: { readonly limit: number; readonly offset: number },
  ) => searchAccounts(store, { text: search, order, kind, ...place }, now());
  return new Elysia({ prefix: "/admin" })
    .use(withAdminSession(deps))
    .get(
      "/accounts",
      async ({ query }) => {
        const page = Number(query.page ?? "1");
        const rows = await readRows(query, { limit: pageSize + 1, offset: (page - 1) * pageSize });
        return { data: rows.slice(0, pageSize).map(toAccountRowJson), page, has_more: rows.length > pageSize };
      },
      { query: Search },
    )
    .get(
      "/accounts.csv",
      ({ query }) =>
        streamDownload({
          name: "accounts",
          format: "csv",
          columns: csvColumns,
          toJson: toAccountRowJson,
          readPage: async ({ limit, before: offset = 0 }: Page<number>) => {
            const rows = await readRows(query, { limit, offset });
            return { rows, next: rows.length < limit ? undefined : offset + rows.length };
          },
        }),
      { query: Search },
    )
    .post(
      "/accounts",
      async ({ admin, body: { email, name } }) => {
        if (email === undefined && name === undefined) {
          throw new GatewayError("invalid_request", "email is missing; a team without one needs a name", {
            param: "email",
          });
        }
        if (email === undefined) {
          const id = await createProject(store, { by: admin, name: name ?? "", changes: {} }, now);
          return { id, email: null };
        }
        return { id: (await actions.createAccount(admin, { email, name })).id, email: email.trim().toLowerCase() };
      },
      { body: NewAccount },
    )
    .post(
      "/accounts/:id/invite",
      async ({ admin, params: { id }, query }) => {
        if (query.mail === "send") await mail.expectInvitation(admin);
        const { token, expiresAt } = await actions.invite(admin, id);
        const { email: to } = (query.mail === "send" ? await deps.accounts.find(id) : undefined) ?? {};
        const error = to && (await mail.send(admin, { kind: "account", to, token, expiresAt }));
        return { token, expires_at: new Date(expiresAt).toISOString(), mail_error: error ?? null };
      },
      { query: Sending },
    )
    .post(
      "/accounts/:id/credit",
      async ({ admin, params: { id }, body: { usd, note, reference } }) => {
        const nanodollars = readCredit(usd);
        const credit = { accountId: id, nanodollars, note, reference };
        const result = await audited(
          (transaction) => creditWallet(transaction, credit, now),
          ({ repeated }) => {
            const subject = { accountId: admin.accountId, action: "account.credit", subject: id } as const;
            return { ...subject, detail: { usd: formatUsd(nanodollars), note, repeated } };
          },
        );
        return { balance_usd: formatUsd(result.balanceNanodollars), repeated: result.repeated };
      },
      { body: Credit },
    )
    .post(
      "/accounts/:id/quota",
      async ({ admin, params: { id }, body: { tokens } }) => {
        await actions.setQuota(admin, id, tokens ?? undefined);
        return { id, tokens };
      },
      { body: Quota },
    )
    .post(
      "/accounts/:id/disabled",
      async ({ admin, params: { id }, body: { disabled } }) => {
        await actions.setDisabled(admin, id, disabled);
        return { id, disabled };
      },
      { body: Disabled },
    );
}
