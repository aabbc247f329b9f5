/** Bodies of the writes below /organization that are answered, for the OpenAPI document. */
export const organizationExamples: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "/organization/projects": { name: "Search", budget_usd: "100.00", budget_period: "month" },
  "/organization/projects/{project_id}": { name: "Search and find", budget_usd: null },
  "/organization/projects/{project_id}/credits": { usd: "25.00", note: "November", reference: "invoice-1042" },
  "/organization/projects/{project_id}/rate_limits/{rate_limit_id}": { max_requests_per_1_minute: 600 },
  "/organization/projects/{project_id}/api_keys": {
    name: "website",
    expires_in_seconds: 7_776_000,
    budget_usd: "5.00",
    budget_period: "day",
    allowed_networks: ["203.0.113.0/24"],
  },
  "/organization/projects/{project_id}/api_keys/{key_id}": { name: "website", budget_usd: null },
  "/organization/projects/{project_id}/api_keys/{key_id}/rotate": { grace_seconds: 3600 },
  "/organization/projects/{project_id}/service_accounts": { name: "nightly job" },
  "/organization/projects/{project_id}/service_accounts/{service_account_id}/api_keys": { name: "second key" },
  "/organization/projects/{project_id}/users": { email: "ada@example.com", role: "member" },
  "/organization/projects/{project_id}/users/{user_id}": { role: "owner" },
  "/organization/users/{user_id}": { role: "viewer" },
  "/organization/invites": { email: "grace@example.com", role: "reader" },
  "/organization/config": {
    accounts: [{ email: "search@teams.example", kind: "team", name: "Search", budget_usd: "100.00" }],
    keys: [{ account: "search@teams.example", name: "website", budget_usd: "5.00", budget_period: "day" }],
  },
  "/organization/admin_api_keys": { name: "reports", scopes: ["usage:read"], expires_in_seconds: 86_400 },
};
