import { testOverPostgres } from "./suites.ts";

/** Each of them runs there with Redis, and in the long form without it too. */
testOverPostgres(
  [
    "integration/ledger/rows",
    "integration/ledger/wallet",
    "integration/ledger/reversals",
    "integration/ledger/limits",
    "integration/ledger/model-limits",
    "integration/ledger/quota",
    "integration/ledger/budget",
    "integration/ledger/budget-periods",
    "integration/ledger/subject-budgets",
    "integration/ledger/budget-sums",
    "integration/ledger/verify",
    "integration/ledger/prune-calls",
  ],
  ["integration/ledger/limit-errors", "integration/ledger/fallback-funds"],
);
