import { testOverPostgres } from "./suites.ts";

/** Each of them runs there with Redis, and in the long form without it too. */
testOverPostgres([
  "integration/ledger/races",
  "integration/ledger/hold-extension",
  "integration/ledger/stream-race",
  "integration/ledger/reported-beyond-hold",
  "integration/ledger/capability-race",
]);
