import { testOverPostgres } from "./suites.ts";

/** Each of them runs there with and without Redis. */
testOverPostgres([
  "integration/ledger/races",
  "integration/ledger/hold-extension",
  "integration/ledger/stream-race",
  "integration/ledger/capability-race",
]);
