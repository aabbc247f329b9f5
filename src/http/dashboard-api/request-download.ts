import { usageColumns } from "../../contract/index.ts";
import { readKeyNames } from "../../keys/index.ts";
import { type LogCursor, type LoggedRequest, type RequestFilter, readRequests } from "../../reports/index.ts";
import { type AccountNames, namesOf } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { type DownloadFormat, type Page, streamDownload } from "../forms/download.ts";
import { nameOfModel } from "../forms/read-fields.ts";
import { toRequestJson } from "../forms/request-json.ts";

const columns = [
  "id",
  "at",
  "account",
  "key_id",
  "state",
  "status",
  "error_code",
  "endpoint",
  "model",
  "capability",
  "protocol",
  "plugin",
  "session",
  "tag",
  "end_user",
  "agent",
  "parent_agent",
  "client_request_id",
  "requests",
  ...usageColumns,
  "usage_source",
  "quota_tokens",
  "cost_usd",
  "charged_usd",
  "cache_saved_usd",
  "cache_miss",
  "cache_miss_place",
  "cache_missed_tokens",
  "cache_lost_usd",
  "first_byte_ms",
  "duration_ms",
  "account_name",
  "email",
  "key_name",
  "model_name",
  "requested_model",
] as const;

/** One column for each fact. */
function toRow(request: LoggedRequest, owners: ReadonlyMap<string, AccountNames> | undefined) {
  const { cache_miss: miss, ...fields } = toRequestJson(request, owners);
  return {
    ...fields,
    cache_miss: miss?.kind ?? null,
    cache_miss_place: miss?.place ?? null,
    cache_missed_tokens: miss?.tokens ?? null,
    cache_lost_usd: miss?.lost_usd ?? null,
  };
}

/** A file of the newest requests that fit the filter. E-mails are for those who see all accounts. */
export function streamRequests(
  deps: HttpDeps,
  filter: RequestFilter,
  { format, seesAll }: { format: DownloadFormat; seesAll: boolean },
): Response {
  const { store } = deps;
  return streamDownload({
    name: "requests",
    format,
    columns,
    toJson: (row: object) => row,
    readPage: async (page: Page<LogCursor>) => {
      const { requests, next } = await readRequests(store, filter, page);
      const owners = seesAll
        ? await namesOf(
            store,
            requests.map(({ account_id: id }) => id),
          )
        : undefined;
      const keyNames = await readKeyNames(
        store,
        requests.map(({ key_id: id }) => id),
      );
      const rows = requests.map((request) => ({
        ...toRow(request, owners),
        key_name: keyNames.get(request.key_id) ?? null,
        model_name: request.model && (nameOfModel(deps, request.model) ?? null),
      }));
      return { rows, next };
    },
  });
}
