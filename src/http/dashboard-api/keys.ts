import { type Static, Type } from "@sinclair/typebox";
import { accountLabel, DisplayName, formatUsd, GatewayError, optional, toRealEmail } from "../../contract/index.ts";
import type { Store } from "../../db/index.ts";
import type { SessionUser } from "../../identity/index.ts";
import {
  type ApiKey,
  graceSecondsDefault,
  graceSecondsMax,
  keyFields,
  keyOrders,
  readKeyFields,
  readNewKeyFields,
  searchKeys,
} from "../../keys/index.ts";
import { bodyFields } from "../../lib/fields.ts";
import { RateLimiter } from "../../lib/rate-limiter.ts";
import { readKeyCosts } from "../../reports/index.ts";
import { labelsOf } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { type Page, streamDownload } from "../forms/download.ts";
import { Lookup, leakedCredentials, Revocation } from "../forms/leaked-credentials.ts";
import { readMoment, withModelIds } from "../forms/read-fields.ts";
import { pageSize, toKeyJson } from "../forms/serializers.ts";
import { withAdminSession, withSession } from "../lifecycle/session.ts";
import { formBody } from "../lifecycle/validate.ts";

const Moment = Type.String({ maxLength: 40 });
const Rotation = formBody({ grace_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: graceSecondsMax })) });
const NewKey = formBody({ name: DisplayName, expires_at: optional(Moment), ...bodyFields(keyFields) });
const KeyChange = formBody({ ...NewKey.properties, name: Type.Optional(DisplayName) });

function readExpiry(text: string | null | undefined): number | null | undefined {
  return typeof text === "string" ? readMoment(text, "expires_at") : text;
}

/** An account holder looks up credentials that they found somewhere. Only their current account's are found. */
export function leakedCredentialsController(deps: HttpDeps) {
  const credentials = leakedCredentials(deps);
  const toTime = (at: number) => new Date(at).toISOString();
  const maySeeOf = (user: SessionUser) => ({
    accountId: user.ownAccountId,
    role: user.role,
    maySee: ({ apiKey }: { apiKey: ApiKey | undefined }) => apiKey?.accountId === user.accountId,
  });
  const route = withSession(deps, "/credentials");
  return [
    route.post("/lookup", ({ user, body }) => credentials.lookUp(body, maySeeOf(user), toTime), { body: Lookup }),
    route.post(
      "/revoke",
      ({ user, body }) => {
        const expectMayEnd = ({ apiKey }: { apiKey: ApiKey | undefined }) => expectMayChange(user, apiKey?.createdBy);
        return credentials.end(body, { ...maySeeOf(user), expectMayEnd });
      },
      { body: Revocation },
    ),
  ];
}

/** Members of a team change the keys that they made, and its admins all of them. @throws {GatewayError} `forbidden` */
function expectMayChange({ teamRole, ownAccountId }: SessionUser, createdBy: string | undefined): void {
  if (teamRole === "admin" || createdBy === ownAccountId) return;
  throw new GatewayError("forbidden", "Somebody else made this key; an admin of the team can change or revoke it");
}

/** Each change is written to the database and announced to all nodes. */
const changesPerMinuteMax = 60;

/** Keys with the e-mails of those who made them, as far as these are people. */
export async function toKeysJson(store: Store, keys: readonly ApiKey[]) {
  const emails = await labelsOf(
    store,
    keys.flatMap(({ createdBy }) => createdBy ?? []),
  );
  return keys.map((key) => ({ ...toKeyJson(key), created_by: emails.get(key.createdBy ?? "") ?? null }));
}

/** The API keys of the user's account. */
export function keysController(deps: HttpDeps) {
  const { accounts } = deps;
  const changes = new RateLimiter(changesPerMinuteMax, deps.now, { what: "key changes" });
  const { readCallers } = leakedCredentials(deps);
  const readOwner = async ({ accountId }: SessionUser, id: string) => {
    const owner = await accounts.findKeyOwner(id);
    if (owner?.accountId !== accountId) throw new GatewayError("not_found", "No API key of this account has this id");
    return owner;
  };
  const expectOwn = async (user: SessionUser, id: string) =>
    expectMayChange(user, (await readOwner(user, id)).createdBy);
  const route = withSession(deps, "/keys");
  return [
    route.get("", async ({ user }) => {
      const { keys, hasMore } = await accounts.listShownKeys(user.accountId);
      return { data: await toKeysJson(deps.store, keys), has_more: hasMore };
    }),
    route.post(
      "",
      ({ user, body }) => {
        changes.take(user.accountId);
        const { name, expires_at: end, ...given } = withModelIds(deps, body, user.email);
        const fields = { ...readNewKeyFields(given, deps.now()), name, expiresAt: readExpiry(end) ?? undefined };
        return accounts.createKey({ accountId: user.accountId, by: user.ownAccountId, ...fields });
      },
      { body: NewKey },
    ),
    route.patch(
      "/:id",
      async ({ user, params: { id }, body }) => {
        changes.take(user.accountId);
        await expectOwn(user, id);
        const { name, expires_at: end, ...given } = withModelIds(deps, body, user.email);
        const fields = { ...readKeyFields(given, deps.now()), name, expiresAt: readExpiry(end) };
        await accounts.changeKey(id, fields, user.ownAccountId);
        return { id };
      },
      { body: KeyChange },
    ),
    route.post(
      "/:id/rotate",
      async ({ user, params: { id }, body: { grace_seconds: graceSeconds = graceSecondsDefault } }) => {
        changes.take(user.accountId);
        await expectOwn(user, id);
        const { key, previousUntil } = await accounts.rotateKey(id, graceSeconds, user.ownAccountId);
        return { id, key, previous_until: new Date(previousUntil).toISOString() };
      },
      { body: Rotation },
    ),
    route.get("/:id/callers", async ({ user, params: { id } }) => {
      await readOwner(user, id);
      return { data: await readCallers(id, (at) => new Date(at).toISOString()) };
    }),
    route.delete("/:id", async ({ user, params: { id } }) => {
      changes.take(user.accountId);
      await expectOwn(user, id);
      await accounts.revokeKey(id, user.ownAccountId);
      return { id };
    }),
  ];
}

const Search = Type.Object({
  search: Type.Optional(Type.String({ maxLength: 254 })),
  state: Type.Optional(Type.Union([Type.Literal("active"), Type.Literal("ended"), Type.Literal("all")])),
  order: Type.Optional(Type.Union(keyOrders.map((order) => Type.Literal(order)))),
  made_by: Type.Optional(Type.String({ maxLength: 254 })),
  page: Type.Optional(Type.String({ pattern: "^[1-9]\\d{0,5}$" })),
});
const csvColumns = [
  "id",
  "name",
  "account",
  "email",
  "state",
  "created_at",
  "created_by",
  "last_used_at",
  "expires_at",
  "revoked_at",
  "spend_30_days_usd",
  "budget_usd",
  "budget_period",
  "budget_used_usd",
  "requests_per_minute",
  "tokens_per_minute",
  "concurrent_calls",
  "allowed_models",
  "allowed_networks",
  "cache_marks",
] as const;
/** Number of days in the cost column of a list of keys. */
const spendDays = 30;
const dayMs = 86_400_000;

/** The API keys of all accounts as a list, for administrators and viewers; the management API makes and changes them. */
export function adminApiKeysController(deps: HttpDeps) {
  const { store, now } = deps;
  const read = async (
    { search = "", state = "active", order = "created", made_by = "" }: Static<typeof Search>,
    page: KeyPage,
  ) => {
    const madeBy = made_by.trim() === "" ? undefined : made_by;
    const keys = await searchKeys(store, now(), { text: search, state, order, madeBy, ...page });
    await deps.rollup?.freshen();
    const today = Math.floor(now() / dayMs);
    const costs = await readKeyCosts(store, keys, { first: today - spendDays + 1, last: today });
    const makers = await labelsOf(
      store,
      keys.flatMap(({ createdBy }) => createdBy ?? []),
    );
    return keys.map((key) => ({
      ...toKeyJson(key),
      created_by: makers.get(key.createdBy ?? "") ?? null,
      account: key.accountId,
      email: toRealEmail(key.email),
      account_name: accountLabel({ email: key.email, name: key.accountName }),
      spend_30_days_usd: formatUsd(costs.get(key.id) ?? 0),
    }));
  };
  const route = withAdminSession(deps, "/admin/api-keys");
  return [
    route.get(
      "",
      async ({ query }) => {
        const page = Number(query.page ?? "1");
        const keys = await read(query, { limit: pageSize + 1, offset: (page - 1) * pageSize });
        return { data: keys.slice(0, pageSize), page, has_more: keys.length > pageSize };
      },
      { query: Search },
    ),
    route.get(
      "/file.csv",
      ({ query }) =>
        streamDownload({
          name: "api-keys",
          format: "csv",
          columns: csvColumns,
          toJson: (key: Awaited<ReturnType<typeof read>>[number]) => ({ ...key, state: toState(key, now()) }),
          readPage: async ({ limit, before: offset = 0 }: Page<number>) => {
            const rows = await read(query, { limit, offset });
            return { rows, next: rows.length < limit ? undefined : offset + rows.length };
          },
        }),
      { query: Search },
    ),
  ];
}

type KeyPage = { readonly limit: number; readonly offset: number };

function toState({ revoked_at: revoked, expires_at: expires }: ReturnType<typeof toKeyJson>, now: number): string {
  if (revoked !== null) return "revoked";
  return expires !== null && Date.parse(expires) <= now ? "expired" : "active";
}
