import { testOverPostgres } from "./suites.ts";

testOverPostgres(
  [
    "unit/tenants/accounts",
    "unit/keys/admin-keys",
    "unit/keys/authenticate",
    "unit/identity/sessions",
    "unit/payments/vouchers",
    "integration/identity/attempt-limit",
    "integration/tenants/role-limits",
    "integration/tenants/search",
    "integration/dashboard-api/audit",
    "integration/dashboard-api/payments",
    "integration/dashboard-api/team",
  ],
  [
    "integration/tenants/claims",
    "integration/keys/ended-keys",
    "integration/tenants/invitations",
    "integration/tenants/roles",
    "integration/identity/second-factor",
    "integration/identity/sign-in",
    "integration/identity/sign-up",
    "integration/dashboard-api/team-invitations",
    "integration/dashboard-api/reversals",
  ],
);
