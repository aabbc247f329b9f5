import { Type } from "@sinclair/typebox";
import { type AuditFilter, type AuditRow, adminKeyOf, readAudit, readAuditEntry } from "../../audit/index.ts";
import { nullable } from "../../contract/index.ts";
import type { Store } from "../../db/index.ts";
import { namesOfAdminKeys } from "../../keys/index.ts";
import { labelsOf } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { type AdminApi, adminRoutes, describeRead } from "./guard.ts";
import { listOf, listParameters, readAll, readPage, readWhole, toList, toSeconds } from "./lists.ts";

const User = Type.Object({ id: Type.String(), email: nullable(Type.String()) });
const AuditLogObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.audit_log"),
  type: Type.String({ description: "The action, such as `key.create`" }),
  effective_at: Type.Integer(),
  actor: Type.Union([
    Type.Object({ type: Type.Literal("session"), session: Type.Object({ user: User }) }),
    Type.Object({
      type: Type.Literal("api_key"),
      api_key: Type.Object({ id: Type.String(), type: Type.String(), name: nullable(Type.String()) }),
    }),
  ]),
  project: Type.Object({ id: Type.String(), name: nullable(Type.String()) }),
  subject: Type.String({ description: "Id of the changed entity" }),
  detail: Type.Record(Type.String(), Type.Unknown()),
});

const list = (description: string) => ({ description, schema: { type: "array", items: { type: "string" } } });
const moment = (description: string) => ({ description, schema: { type: "integer", minimum: 0 } });
const secondsMax = 8_640_000_000_000;

/** The audit log. */
export function auditLogsController(deps: HttpDeps, api: AdminApi) {
  const { store } = deps;
  const route = adminRoutes(deps, api, { path: "/organization/audit_logs", area: "audit" });
  return [
    route.get(
      "",
      async ({ request }) => {
        const query = parseUrl(request).searchParams;
        const { limit, after } = readPage(query);
        const before = after === undefined ? undefined : await readAuditEntry(store, after);
        const filter = await readFilter(deps, query);
        const entries: AuditRow[] = [];
        // One read looks at a bounded part of the log, which may have nothing that fits.
        let place: Parameters<typeof readAudit>[2] = { limit: limit + 1, before };
        while (true) {
          const { entries: auditEntries, next } = await readAudit(store, filter, place);
          entries.push(...auditEntries);
          if (entries.length > limit || next === undefined) break;
          place = { limit: limit + 1, before: next };
        }
        return toList(entries, limit, await withNames(store, entries));
      },
      {
        detail: describeRead("List audit log entries, newest first", listOf(AuditLogObject), {
          query: {
            ...listParameters,
            event_types: list("An action such as `key.create`, or `key` for all actions on keys"),
            project_ids: list("Ids of changed entities"),
            resource_ids: list("The same"),
            actor_ids: list("Actors: the id of a user, `cli`, or `admin-key:` and the id of an admin key"),
            actor_emails: list("Actors, by e-mail"),
            "effective_at[gte]": moment("At or after, in seconds since 1970"),
            "effective_at[gt]": moment("After"),
            "effective_at[lt]": moment("Before"),
            "effective_at[lte]": moment("At or before"),
          },
        }),
      },
    ),
  ];
}

/** @throws {GatewayError} `invalid_request` */
async function readFilter({ accounts }: HttpDeps, query: URLSearchParams): Promise<AuditFilter> {
  const readMoment = (name: string, plus: number) => {
    const seconds = readWhole(query, `effective_at[${name}]`, [0, secondsMax]);
    return seconds === undefined ? undefined : (seconds + plus) * 1000;
  };
  const emails = readAll(query, "actor_emails");
  const people = await Promise.all(emails.map(async (email) => (await accounts.find(email))?.id ?? email));
  const actors = [...readAll(query, "actor_ids"), ...people];
  const actions = readAll(query, "event_types");
  const subjects = ["project_ids", "resource_ids"].flatMap((name) => readAll(query, name));
  return {
    from: readMoment("gte", 0) ?? readMoment("gt", 1),
    until: readMoment("lt", 0) ?? readMoment("lte", 1),
    ...(actors.length > 0 && { actor: actors }),
    ...(actions.length > 0 && { action: actions }),
    ...(subjects.length > 0 && { subject: subjects }),
  };
}

async function withNames(store: Store, entries: readonly AuditRow[]) {
  const emails = await labelsOf(
    store,
    entries.flatMap(({ accountId, subject }) => [accountId, subject]),
  );
  const keys = await namesOfAdminKeys(
    store,
    entries.flatMap(({ accountId }) => adminKeyOf(accountId) ?? []),
  );
  return ({ id, at, accountId, action, subject, detail }: AuditRow) => {
    const keyId = adminKeyOf(accountId);
    const user = { id: accountId, email: emails.get(accountId) ?? null };
    const key = { id: keyId ?? "", type: "user", name: keys.get(keyId ?? "") ?? null };
    return {
      id,
      object: "organization.audit_log",
      type: action,
      effective_at: toSeconds(at),
      actor: keyId === undefined ? { type: "session", session: { user } } : { type: "api_key", api_key: key },
      project: { id: subject, name: emails.get(subject) ?? null },
      subject,
      detail,
    };
  };
}
