import { type Static, Type } from "@sinclair/typebox";
import { createAudited } from "../../audit/index.ts";
import {
  type AccountRow,
  accountActions,
  accountKinds,
  accountOrders,
  findTeamsWithoutAdmin,
  searchAccounts,
} from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { type Page, streamDownload } from "../forms/download.ts";
import { pageSize, toAccountRowJson } from "../forms/serializers.ts";
import { withAdminSession } from "../lifecycle/session.ts";
import { createLinkMail } from "./link-mail.ts";

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
/** `mail=send` sends the link to the e-mail of the account too. */
const Sending = Type.Object({ mail: Type.Optional(Type.Literal("send")) });
/** The list of accounts for administrators, and the invitation of their holders by mail, which is in the audit log. */
export function adminAccountsController(deps: HttpDeps) {
  const { store, now } = deps;
  const actions = accountActions(createAudited(store, now), now);
  const mail = createLinkMail(deps);
  const readRows = (
    { search = "", order = "email", kind }: Static<typeof Search>,
    place: { readonly limit: number; readonly offset: number },
  ) => searchAccounts(store, { text: search, order, kind, ...place }, now());
  const route = withAdminSession(deps, "/admin");
  return [
    route.get(
      "/accounts",
      async ({ query }) => {
        const page = Number(query.page ?? "1");
        const rows = await readRows(query, { limit: pageSize + 1, offset: (page - 1) * pageSize });
        const orphans = new Set((await findTeamsWithoutAdmin(store)).map(({ id }) => id));
        return {
          data: rows.slice(0, pageSize).map((row) => toAccountRowJson(row, orphans)),
          page,
          has_more: rows.length > pageSize,
        };
      },
      { query: Search },
    ),
    route.get(
      "/accounts.csv",
      ({ query }) =>
        streamDownload({
          name: "accounts",
          format: "csv",
          columns: csvColumns,
          toJson: (row: AccountRow) => toAccountRowJson(row, new Set()),
          readPage: async ({ limit, before: offset = 0 }: Page<number>) => {
            const rows = await readRows(query, { limit, offset });
            return { rows, next: rows.length < limit ? undefined : offset + rows.length };
          },
        }),
      { query: Search },
    ),
    route.post(
      "/accounts/:id/invite",
      async ({ admin, params: { id }, query }) => {
        if (query.mail === "send") await mail.expectInvitation(admin);
        const { token, expiresAt } = await actions.invite(admin, id);
        const { email: to } = (query.mail === "send" ? await deps.accounts.find(id) : undefined) ?? {};
        const error = to && (await mail.send(admin, { kind: "account", to, token, expiresAt }));
        return { token, expires_at: new Date(expiresAt).toISOString(), mail_error: error ?? null };
      },
      { query: Sending },
    ),
  ];
}
