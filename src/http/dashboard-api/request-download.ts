import { usageColumns } from "../../contract/index.ts";
import type { Store } from "../../db/index.ts";
import { type LogCursor, type LoggedRequest, type RequestFilter, readRequests } from "../../reports/index.ts";
import { type DownloadFormat, type Page, streamDownload } from "./download.ts";
import { toRequestJson } from "./request-json.ts";

const columns = [
  ...[
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
    "route",
  ],
  ...["session", "tag", "client_request_id", "requests"],
  ...usageColumns,
  ...["usage_source", "quota_tokens", "cost_usd", "charged_usd"],
  ...["first_byte_ms", "duration_ms"],
] as const;

/** A file of the newest requests that fit the filter. */
export function streamRequests(store: Store, filter: RequestFilter, format: DownloadFormat): Response {
  return streamDownload({
    name: "requests",
    format,
    columns,
    toJson: (request: LoggedRequest) => toRequestJson(request),
    readPage: async (page: Page<LogCursor>) => {
      const { requests: rows, next } = await readRequests(store, filter, page);
      return { rows, next };
    },
  });
}
