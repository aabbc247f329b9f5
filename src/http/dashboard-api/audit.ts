import { type Static, Type } from "@sinclair/typebox";
import { type AuditCursor, type AuditFilter, type AuditRow, adminKeyOf, readAudit } from "../../audit/index.ts";
import type { Store } from "../../db/index.ts";
import { namesOfAdminKeys } from "../../keys/index.ts";
import { namesOf } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { type DownloadFormat, type Page, streamDownload } from "../forms/download.ts";
import { CursorQuery, readAccountId, readCursor, readSpan, spanFields } from "../forms/read-fields.ts";
import { toAuditEntryJson, toIso } from "../forms/serializers.ts";
import { withAdminSession } from "../lifecycle/session.ts";

const text = Type.Optional(Type.String({ minLength: 1, maxLength: 254 }));
const Filter = Type.Object({ ...spanFields, actor: text, action: text, subject: text });
const PageQuery = Type.Composite([Filter, CursorQuery]);
const columns = [
  "id",
  "at",
  "account",
  "account_name",
  "email",
  "os_user",
  "action",
  "subject",
  "subject_name",
  "subject_email",
  "detail",
] as const;

/** The audit log. */
export function auditController(deps: HttpDeps) {
  const { store } = deps;
  const download = (format: DownloadFormat) => async (query: Static<typeof Filter>) => {
    const filter = await readFilter(store, query);
    return streamDownload({
      name: "audit",
      format,
      columns,
      toJson: (row: ReturnType<typeof toAuditEntryJson>) => row,
      readPage: async (page: Page<AuditCursor>) => {
        const { entries, next } = await readAudit(store, filter, page);
        return { rows: await toJson(store, entries), next };
      },
    });
  };
  const [csv, jsonl] = [download("csv"), download("jsonl")];
  const route = withAdminSession(deps, "/admin");
  return [
    route.get(
      "/audit",
      async ({ query }) => {
        const filter = await readFilter(store, query);
        const { entries, next } = await readAudit(store, filter, { before: readCursor(query) });
        return {
          data: await toJson(store, entries),
          next: next === undefined ? null : { before: toIso(next.at), before_id: next.id ?? "" },
        };
      },
      { query: PageQuery },
    ),
    route.get("/audit.csv", ({ query }) => csv(query), { query: Filter }),
    route.get("/audit.jsonl", ({ query }) => jsonl(query), { query: Filter }),
  ];
}

async function toJson(store: Store, entries: readonly AuditRow[]) {
  const owners = await namesOf(
    store,
    entries.flatMap(({ accountId, subject }) => [accountId, subject]),
  );
  const keys = await namesOfAdminKeys(
    store,
    entries.flatMap(({ accountId }) => adminKeyOf(accountId) ?? []),
  );
  return entries.map((entry) => {
    const key = adminKeyOf(entry.accountId);
    const json = toAuditEntryJson(entry, owners);
    return key === undefined ? json : { ...json, account_name: `admin key ${keys.get(key) ?? key}` };
  });
}

/** Actor and subject may be given by e-mail. @throws {GatewayError} `invalid_request` */
async function readFilter(store: Store, query: Static<typeof Filter>): Promise<AuditFilter> {
  const { actor, action, subject } = query;
  return {
    ...readSpan(query),
    actor: actor === undefined ? undefined : await readAccountId(store, actor, "actor"),
    action,
    subject: subject === undefined ? undefined : await readAccountId(store, subject, "subject"),
  };
}
