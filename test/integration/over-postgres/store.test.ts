import { testOverPostgres } from "./suites.ts";

testOverPostgres(
  [
    "integration/db/blobs",
    "integration/db/contents",
    "integration/db/idempotency-keys",
    "integration/db/setting",
    "integration/db/stored-responses",
    "integration/db/write-ledger",
    "integration/reports/latest-calls",
    "integration/reports/low-wallets",
    "integration/reports/requests",
    "integration/reports/statistics",
    "integration/reports/usage/read-usage",
    "integration/reports/usage/read-usage-rows",
  ],
  [
    "integration/content-log/kept",
    "integration/alerts/alerts",
    "integration/alerts/channels",
    "unit/http/api/previous-response",
    "unit/http/api/stored-responses",
    "integration/properties/page-addresses",
    "integration/properties/page-mutants",
    "integration/properties/issuer-mutants",
  ],
);
