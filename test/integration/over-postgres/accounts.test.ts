import { testOverPostgres } from "./suites.ts";

testOverPostgres(
  [
    "unit/accounts/account-admin",
    "unit/accounts/admin-keys",
    "unit/accounts/authenticate",
    "unit/accounts/sessions",
    "unit/accounts/vouchers",
    "integration/accounts/attempt-limit",
    "integration/accounts/role-limits",
    "integration/accounts/search",
    "integration/dashboard-api/audit",
    "integration/dashboard-api/payments",
    "integration/dashboard-api/team",
  ],
  [
    "integration/accounts/claims",
    "integration/accounts/ended-keys",
    "integration/accounts/invitations",
    "integration/accounts/roles",
    "integration/accounts/second-factor",
    "integration/accounts/sign-in",
    "integration/accounts/sign-up",
    "integration/dashboard-api/team-invitations",
    "integration/dashboard-api/reversals",
  ],
);
