import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey, createServiceAccount } from "../../../src/keys/index.ts";
import { creditWallet } from "../../../src/ledger/index.ts";
import { createReroute } from "../../../src/providers/index.ts";
import {
  createGroupRole,
  createPolicyRule,
  eachAccount,
  setMarkup,
  setModelLimits,
} from "../../../src/tenants/index.ts";
import { createBudget } from "../../support/budgets.ts";
import type { InProcessGateway } from "../../support/in-process.ts";
import { addDeadChannel } from "./alert-rows.ts";
import { joinTeam, type TeamIds } from "./team-rows.ts";

interface Made {
  readonly body?: unknown;
  readonly id?: () => string | Promise<string>;
}

type Statuses = { readonly others: number } & Record<
  "member" | "other member" | "admin" | "owner" | "admin key" | "limited admin key",
  number
>;

/** The routes of the management API, for the table of authorization: admin keys with the scope, and sessions of operators. */
export function organizationRows<Row>(
  toRow: (statuses: Statuses, made: Made) => Row,
  parts: {
    gateway: () => InProcessGateway;
    ids: () => TeamIds;
    accounts: () => Promise<string>;
    /** Makes a session of the member's calls. */
    callSession: () => Promise<string>;
    /** Sends as the admin key, and returns the id of what was made. */
    send: (route: string, body: object | undefined, id?: string) => Promise<string>;
  },
): Record<string, Row> {
  const { ids, accounts: newAccount } = parts;
  const toStatuses = (status: number, limited: number): Statuses => ({
    ...{ others: 401, member: 403, "other member": 403, admin: status, owner: status },
    ...{ "admin key": status, "limited admin key": limited },
  });
  const managed = (status: number, made: Made = {}) => toRow(toStatuses(status, 403), made);
  /** What the limited key has the scope of. */
  const ofUsage = (made: Made = {}) => toRow(toStatuses(200, 200), made);
  /** For owners and their admin keys. */
  const ofOwners = (made: Made) => toRow({ ...toStatuses(200, 403), admin: 403 }, made);
  const anIssuer = () => {
    const issuer = `https://${crypto.randomUUID()}.example.com`;
    return { issuer, audiences: ["modelgate"], claims: { account: "email" } };
  };
  const newIssuer = async () => encodeURIComponent(await parts.send("POST /v1/organization/jwt_issuers", anIssuer()));
  const member = () => ids().member;
  const newKey = async () => {
    const fields = { accountId: member(), name: "a key", by: "cli" };
    return `${member()} ${(await parts.gateway().app.accounts.createKey(fields)).id}`;
  };
  const newService = async () => {
    const fields = { accountId: member(), name: "job", by: "cli" };
    return `${member()} ${(await createServiceAccount(parts.gateway().store, fields, Date.now())).id}`;
  };
  const aBudget = { subject: "end_user", budget_usd: "1.00", budget_period: "day" };
  const newBudget = async () => {
    const target = { subject: "tag", name: crypto.randomUUID(), period: "day", limitNanodollars: 1 } as const;
    const fields = { by: commandLine, accountId: member(), ...target };
    return `${member()} ${(await createBudget(parts.gateway().store, fields, Date.now())).id}`;
  };
  const newGatewayBudget = async () => {
    const target = { subject: "tag", name: crypto.randomUUID(), period: "day", limitNanodollars: 1e9 } as const;
    const fields = { by: commandLine, accountId: eachAccount, ...target };
    return (await createBudget(parts.gateway().store, fields, Date.now())).id;
  };
  const aLimit = { model: "gpt-4.1", max_requests_per_1_minute: 5 };
  const newLimit = async (accountId = eachAccount) => {
    const target = { by: commandLine, accountId, model: crypto.randomUUID(), requests_per_minute: 5 };
    return (await setModelLimits(parts.gateway().store, target, Date.now())).id;
  };
  const newLimitOfMember = async () => `${member()} ${await newLimit(member())}`;
  const newMarkup = async (accountId = eachAccount) => {
    const provider = accountId === eachAccount ? crypto.randomUUID() : "";
    const target = { by: commandLine, accountId, provider, basis_points: 0 };
    return (await setMarkup(parts.gateway().store, target, Date.now())).id;
  };
  // No file has it, so it is open.
  const aPolicy = () => ({ policy: `p${crypto.randomUUID().slice(0, 8)}`, order: 1, on_failure: "open" as const });
  const newPolicy = async (accountId = eachAccount) => {
    const { order: position, ...rule } = aPolicy();
    const made = { by: commandLine, accountId, position, ...rule };
    return (await createPolicyRule(parts.gateway().store, made, Date.now())).id;
  };
  const newPolicyOfMember = async () => `${member()} ${await newPolicy(member())}`;
  const newMarkupOfMember = async () => `${member()} ${await newMarkup(member())}`;
  const newGroupRole = async (accountId = eachAccount) => {
    const row = { by: commandLine, accountId, group_name: crypto.randomUUID(), role: "member" as const };
    return (await createGroupRole(parts.gateway().store, row, Date.now())).id;
  };
  const newGroupRoleOfMember = async () => `${member()} ${await newGroupRole(member())}`;
  const newAdminKey = async () =>
    (await createAdminKey(parts.gateway().store, commandLine, { name: "x", scopes: ["usage:read"] }, Date.now())).id;
  const aVoucher = { usd: "1.00" };
  const newVoucher = () => parts.send("POST /v1/organization/vouchers", aVoucher);
  const aSession = async () => `${member()} ${await parts.callSession()}`;
  const newMate = async () => {
    await joinTeam(parts.gateway().store, ids().member, ids().mate);
    return `${member()} ${ids().mate}`;
  };
  const newStranger = async () => {
    const { store } = parts.gateway();
    await store.db.deleteFrom("memberships").where("account_id", "=", member()).execute();
    await joinTeam(store, ids().member, ids()["team member"]);
    return member();
  };
  const newInvite = async () => {
    const id = await newAccount();
    const row = { token_hash: crypto.randomUUID(), account_id: id, created_by: "cli", created_at: 1, expires_at: 2 };
    await parts
      .gateway()
      .store.db.insertInto("invitations")
      .values({ ...row, used_at: null })
      .execute();
    return `invite_${id}`;
  };
  const newPerson = async () => {
    const id = await newAccount();
    const { db } = parts.gateway().store;
    const at = new Date().toISOString();
    const user = {
      id: crypto.randomUUID(),
      account_id: id,
      email: `${id}@example.org`,
      name: id,
      role: "member" as const,
    };
    const rest = { password_is_temporary: 0, email_verified: 1, image: null, created_at: at, updated_at: at };
    await db
      .insertInto("users")
      .values({ ...user, ...rest })
      .execute();
    return id;
  };
  let credited = "";
  const newCredited = async () => {
    credited = await newAccount();
    const credit = { accountId: credited, nanodollars: 1e9, note: "slip", reference: "slip" };
    await creditWallet(parts.gateway().store, credit);
    return credited;
  };
  let providers = 0;
  const toProvider = () => {
    const name = `managed-${++providers}`;
    const models = [{ id: `${name}/model`, premium: false }];
    return { name, manifest: { baseUrl: "https://acme.example/v1", dialect: "openai", models } };
  };
  // Of those that end nothing, the next caller gets the same: there may be 200 providers, with 20 keys each.
  const keptUntilDeleted = (make: () => Promise<string>, find: (id: string) => Promise<string | undefined>) => {
    let kept: string | undefined;
    return async () => {
      if (kept === undefined || (await find(kept)) === undefined) kept = await make();
      return kept;
    };
  };
  const aProvider = keptUntilDeleted(
    () => parts.send("POST /v1/organization/providers", toProvider()),
    (name) => parts.send("GET /v1/organization/providers/:provider_id", undefined, name),
  );
  const keysOf = "/v1/organization/providers/:provider_id/keys";
  const toSecret = () => ({ key: `key-of-a-provider-${++providers}` });
  const aProviderKey = keptUntilDeleted(
    async () => {
      const name = await aProvider();
      return `${name} ${await parts.send(`POST ${keysOf}`, toSecret(), name)}`;
    },
    async (id) => {
      const keys = parts.gateway().store.db.selectFrom("provider_keys").select("id");
      return (await keys.where("id", "=", id.split(" ")[1] as string).executeTakeFirst())?.id;
    },
  );
  const catalogue = "/v1/organization/catalogue";
  const fileRoute = `${catalogue}/files/:file_id`;
  const aFile = keptUntilDeleted(
    () => parts.send(`POST ${fileRoute}`, { content: { models: [] } }, "openai"),
    (id) => parts.send(`GET ${fileRoute}`, undefined, id),
  );
  const modelRoute = `${catalogue}/models/:catalogue_model_id`;
  const aModel = async () => {
    await parts.send(`POST ${modelRoute}`, { row: { priority: 5 } }, "openai:famA-4.1-nano");
    return "openai:famA-4.1-nano";
  };
  const unlisted = `${catalogue}/unlisted/:provider_id`;
  const someTerms = async () => {
    await parts.send(`POST ${unlisted}`, { terms: null }, "groq");
    return "groq";
  };
  const condition = { metric: "error_rate", scope: "gateway", comparison: "above", threshold: "5", minutes: 60 };
  const aMetricRule = { name: "errors", ...condition };
  const newMetricRule = keptUntilDeleted(
    () => parts.send("POST /v1/organization/alerts/metric_rules", aMetricRule),
    async (id) => {
      const rules = parts.gateway().store.db.selectFrom("metric_rules").select("id");
      return (await rules.where("id", "=", id).executeTakeFirst())?.id;
    },
  );
  // One at a time: a provider is re-routed once.
  const newReroute = async () => {
    const { store } = parts.gateway();
    await store.db.deleteFrom("reroutes").execute();
    const by = { by: commandLine, served: undefined, now: Date.now(), nameOf: String };
    return (await createReroute(store, { subject: "provider", name: "openai" }, by)).id;
  };
  const newChannel = () => addDeadChannel(parts.gateway(), ids().member, "gateway");
  const aMailServer = { host: "mail.example.com", port: 25, tls: false, from: "gateway@example.com" };
  const path = "{api}/organization";
  const project = `${path}/projects/:project_id`;
  const projects: Record<string, Row> = {
    [`GET ${path}/projects`]: managed(200),
    [`POST ${path}/projects`]: managed(200, { body: { name: "Search" } }),
    [`GET ${project}`]: managed(200, { id: member }),
    [`POST ${project}`]: managed(200, { id: newAccount, body: { name: "Search" } }),
    [`POST ${project}/archive`]: managed(200, { id: newAccount }),
    [`POST ${project}/credits`]: managed(200, { id: newAccount, body: { usd: "1.00", note: "test" } }),
    [`POST ${project}/reversals`]: managed(200, {
      id: newCredited,
      body: () => ({ transaction_id: `credit:${credited}:slip` }),
    }),
    [`GET ${project}/rate_limits`]: managed(200, { id: member }),
    [`POST ${project}/rate_limits`]: managed(200, { id: newAccount, body: aLimit }),
    [`GET ${project}/rate_limits/:rate_limit_id`]: managed(200, { id: newLimitOfMember }),
    [`POST ${project}/rate_limits/:rate_limit_id`]: managed(200, {
      id: async () => `${await newAccount()} all`,
      body: { max_requests_per_1_minute: 5 },
    }),
    [`DELETE ${project}/rate_limits/:rate_limit_id`]: managed(200, { id: newLimitOfMember }),
    [`GET ${path}/budgets`]: managed(200),
    [`POST ${path}/budgets`]: managed(200, { body: () => ({ ...aBudget, subject: "tag", name: crypto.randomUUID() }) }),
    [`GET ${path}/budgets/:budget_id`]: managed(200, { id: newGatewayBudget }),
    [`POST ${path}/budgets/:budget_id`]: managed(200, { id: newGatewayBudget, body: { budget_usd: "2.00" } }),
    [`DELETE ${path}/budgets/:budget_id`]: managed(200, { id: newGatewayBudget }),
    [`GET ${path}/budgets/:budget_id/usage`]: managed(200, { id: newGatewayBudget }),
    [`GET ${path}/rate_limits`]: managed(200),
    [`POST ${path}/rate_limits`]: managed(200, { body: aLimit }),
    [`GET ${path}/rate_limits/:rate_limit_id`]: managed(200, { id: () => newLimit() }),
    [`POST ${path}/rate_limits/:rate_limit_id`]: managed(200, {
      id: () => newLimit(),
      body: { max_tokens_per_1_minute: 5 },
    }),
    [`DELETE ${path}/rate_limits/:rate_limit_id`]: managed(200, { id: () => newLimit() }),
    [`GET ${path}/markups`]: managed(200),
    [`POST ${path}/markups`]: managed(200, { body: { markup_percent: "0" } }),
    [`GET ${path}/markups/:markup_id`]: managed(200, { id: () => newMarkup() }),
    [`POST ${path}/markups/:markup_id`]: managed(200, { id: () => newMarkup(), body: { markup_percent: "1.25" } }),
    [`DELETE ${path}/markups/:markup_id`]: managed(200, { id: () => newMarkup() }),
    [`GET ${project}/markups`]: managed(200, { id: member }),
    [`POST ${project}/markups`]: managed(200, { id: newAccount, body: { markup_percent: "0" } }),
    [`GET ${project}/markups/:markup_id`]: managed(200, { id: newMarkupOfMember }),
    [`POST ${project}/markups/:markup_id`]: managed(200, { id: newMarkupOfMember, body: { markup_percent: "1.25" } }),
    [`DELETE ${project}/markups/:markup_id`]: managed(200, { id: newMarkupOfMember }),
    [`GET ${path}/policies`]: managed(200),
    [`POST ${path}/policies`]: managed(200, { body: aPolicy }),
    [`GET ${path}/policies/:policy_id`]: managed(200, { id: () => newPolicy() }),
    [`POST ${path}/policies/:policy_id`]: managed(200, { id: () => newPolicy(), body: { order: 2 } }),
    [`DELETE ${path}/policies/:policy_id`]: managed(200, { id: () => newPolicy() }),
    [`GET ${project}/policies`]: managed(200, { id: member }),
    [`POST ${project}/policies`]: managed(200, { id: newAccount, body: aPolicy }),
    [`GET ${project}/policies/:policy_id`]: managed(200, { id: newPolicyOfMember }),
    [`POST ${project}/policies/:policy_id`]: managed(200, { id: newPolicyOfMember, body: { order: 2 } }),
    [`DELETE ${project}/policies/:policy_id`]: managed(200, { id: newPolicyOfMember }),
    [`GET ${path}/reroutes`]: managed(200),
    [`POST ${path}/reroutes`]: managed(200, { id: newReroute, body: { subject: "provider", name: "xai" } }),
    [`GET ${path}/reroutes/:reroute_id`]: managed(200, { id: newReroute }),
    [`POST ${path}/reroutes/:reroute_id`]: managed(200, { id: newReroute, body: { ends_at: 4_102_444_800 } }),
    [`DELETE ${path}/reroutes/:reroute_id`]: managed(200, { id: newReroute }),
    [`GET ${path}/role_limits`]: managed(200),
    [`GET ${path}/role_limits/:role`]: managed(200, { id: () => "viewer" }),
    [`POST ${path}/role_limits/:role`]: managed(200, { id: () => "viewer", body: { max_requests_per_1_minute: 900 } }),
    [`GET ${project}/budgets`]: managed(200, { id: member }),
    [`POST ${project}/budgets`]: managed(200, { id: newAccount, body: aBudget }),
    [`GET ${project}/budgets/:budget_id`]: managed(200, { id: newBudget }),
    [`POST ${project}/budgets/:budget_id`]: managed(200, { id: newBudget, body: { budget_usd: "2.00" } }),
    [`DELETE ${project}/budgets/:budget_id`]: managed(200, { id: newBudget }),
    [`GET ${project}/budgets/:budget_id/usage`]: managed(200, { id: newBudget }),
    [`GET ${path}/group_roles`]: managed(200),
    [`POST ${path}/group_roles`]: managed(200, { body: () => ({ group: crypto.randomUUID(), role: "viewer" }) }),
    [`GET ${path}/group_roles/:group_role_id`]: managed(200, { id: () => newGroupRole() }),
    [`POST ${path}/group_roles/:group_role_id`]: managed(200, { id: () => newGroupRole(), body: { role: "admin" } }),
    [`DELETE ${path}/group_roles/:group_role_id`]: managed(200, { id: () => newGroupRole() }),
    [`GET ${project}/group_roles`]: managed(200, { id: member }),
    [`POST ${project}/group_roles`]: managed(200, {
      id: member,
      body: () => ({ group: crypto.randomUUID(), role: "member" }),
    }),
    [`GET ${project}/group_roles/:group_role_id`]: managed(200, { id: newGroupRoleOfMember }),
    [`POST ${project}/group_roles/:group_role_id`]: managed(200, {
      id: newGroupRoleOfMember,
      body: { leavers_keys: "keep" },
    }),
    [`DELETE ${project}/group_roles/:group_role_id`]: managed(200, { id: newGroupRoleOfMember }),
    [`GET ${project}/api_keys`]: managed(200, { id: member }),
    [`POST ${project}/api_keys`]: managed(200, { id: member, body: { name: "new" } }),
    [`GET ${project}/api_keys/:key_id`]: managed(200, { id: newKey }),
    [`POST ${project}/api_keys/:key_id`]: managed(200, { id: newKey, body: { name: "changed" } }),
    [`DELETE ${project}/api_keys/:key_id`]: managed(200, { id: newKey }),
    [`GET ${project}/api_keys/:key_id/callers`]: managed(200, { id: newKey }),
    [`POST ${project}/api_keys/:key_id/rotate`]: managed(200, { id: newKey, body: { grace_seconds: 1 } }),
    [`GET ${project}/service_accounts`]: managed(200, { id: member }),
    [`POST ${project}/service_accounts`]: managed(200, { id: member, body: { name: "job" } }),
    [`GET ${project}/service_accounts/:service_account_id`]: managed(200, { id: newService }),
    [`DELETE ${project}/service_accounts/:service_account_id`]: managed(200, { id: newService }),
    [`POST ${project}/service_accounts/:service_account_id/api_keys`]: managed(200, {
      id: newService,
      body: { name: "new" },
    }),
    [`GET ${project}/users`]: managed(200, { id: member }),
    [`POST ${project}/users`]: managed(200, {
      id: newStranger,
      body: () => ({ user_id: ids().mate, role: "member" }),
    }),
    [`GET ${project}/users/:user_id`]: managed(200, { id: newMate }),
    [`POST ${project}/users/:user_id`]: managed(200, { id: newMate, body: { role: "member" } }),
    [`DELETE ${project}/users/:user_id`]: managed(200, { id: newMate }),
  };
  const kinds = ["completions", "embeddings", "moderations", "images", "audio_speeches", "audio_transcriptions"];
  const usage = [...kinds.map((kind) => `usage/${kind}`), "costs"].map((name) => [`GET ${path}/${name}`, ofUsage()]);
  return {
    ...projects,
    ...Object.fromEntries(usage),
    [`GET ${path}/users`]: managed(200),
    [`GET ${path}/users/:user_id`]: managed(200, { id: member }),
    [`POST ${path}/users/:user_id`]: managed(200, { id: newPerson, body: { role: "viewer" } }),
    [`DELETE ${path}/users/:user_id`]: managed(200, { id: newPerson }),
    [`GET ${path}/users/:user_id/api_keys`]: managed(200, { id: member }),
    [`DELETE ${path}/users/:user_id/sessions`]: managed(200, { id: newPerson }),
    [`GET ${path}/invites`]: managed(200),
    [`POST ${path}/invites`]: managed(200, {
      body: () => ({ email: `${crypto.randomUUID()}@example.org`, role: "reader" }),
    }),
    [`GET ${path}/invites/:invite_id`]: managed(200, { id: newInvite }),
    [`DELETE ${path}/invites/:invite_id`]: managed(200, { id: newInvite }),
    [`GET ${path}/vouchers`]: managed(200),
    [`POST ${path}/vouchers`]: managed(200, { body: aVoucher }),
    [`GET ${path}/vouchers/:voucher_id`]: managed(200, { id: newVoucher }),
    [`POST ${path}/vouchers/:voucher_id/void`]: managed(200, { id: newVoucher }),
    [`GET ${path}/jwt_issuers`]: managed(200),
    [`PUT ${path}/jwt_issuers`]: ofOwners({ body: { issuers: [] } }),
    [`POST ${path}/jwt_issuers`]: ofOwners({ body: anIssuer }),
    [`GET ${path}/jwt_issuers/:issuer`]: managed(200, { id: newIssuer }),
    [`POST ${path}/jwt_issuers/:issuer`]: ofOwners({ id: newIssuer, body: { audiences: ["other"] } }),
    [`DELETE ${path}/jwt_issuers/:issuer`]: ofOwners({ id: newIssuer }),
    [`POST ${path}/reconciliations`]: ofUsage({
      body: { content: "day,model,requests\n2026-11-21,nothing,0" },
    }),
    [`POST ${path}/credentials/lookup`]: managed(200, { body: { credentials: [{ type: "api_key", id: "unknown1" }] } }),
    [`POST ${path}/credentials/revoke`]: managed(404, { body: { type: "api_key", id: "unknown1" } }),
    [`GET ${path}/admin_api_keys`]: managed(200),
    [`POST ${path}/admin_api_keys`]: managed(200, { body: { name: "child", scopes: ["usage:read"] } }),
    [`GET ${path}/admin_api_keys/:key_id`]: managed(200, { id: newAdminKey }),
    [`DELETE ${path}/admin_api_keys/:key_id`]: managed(200, { id: newAdminKey }),
    [`GET ${path}/providers`]: managed(200),
    [`POST ${path}/providers`]: managed(200, { body: toProvider }),
    [`GET ${path}/providers/:provider_id`]: managed(200, { id: () => "openai" }),
    [`POST ${path}/providers/:provider_id`]: managed(200, { id: () => "openai", body: { enabled: true } }),
    [`DELETE ${path}/providers/:provider_id`]: managed(200, { id: aProvider }),
    [`GET ${path}/providers/:provider_id/incident`]: managed(200, { id: () => "openai" }),
    // It has no key.
    [`POST ${path}/providers/:provider_id/test`]: managed(409, { id: () => "openai", body: {} }),
    [`POST ${path}/providers/:provider_id/resume`]: managed(200, { id: () => "openai", body: {} }),
    [`POST ${path}/providers/:provider_id/keys`]: managed(200, { id: aProvider, body: toSecret }),
    [`POST ${path}/providers/:provider_id/keys/:provider_key_id`]: managed(200, {
      id: aProviderKey,
      body: toSecret,
    }),
    [`DELETE ${path}/providers/:provider_id/keys/:provider_key_id`]: managed(200, { id: aProviderKey }),
    // A provider that cannot be reached is an answer of the test, not an error of the route.
    [`POST ${path}/provider_tests`]: managed(200, { body: () => ({ ...toProvider(), key: "provider-key" }) }),
    [`GET ${path}/sandbox`]: managed(200),
    // The environment sets the same, so that nothing changes.
    [`POST ${path}/sandbox`]: managed(200, { body: { setting: "on" } }),
    [`GET ${path}/plugins`]: managed(200),
    [`GET ${path}/catalogue`]: managed(200),
    [`PUT ${path}/catalogue`]: managed(200, { body: { revision: "*", files: {} } }),
    [`GET ${path}/catalogue/models`]: managed(200),
    [`GET ${path}/catalogue/models/:catalogue_model_id`]: managed(200, { id: () => "openai:famA-4.1-nano" }),
    [`POST ${path}/catalogue/models/:catalogue_model_id`]: managed(200, {
      id: () => "openai:famA-4.1-nano",
      body: { row: { priority: 5 } },
    }),
    [`DELETE ${path}/catalogue/models/:catalogue_model_id`]: managed(200, { id: aModel }),
    [`GET ${path}/catalogue/unlisted`]: managed(200),
    [`POST ${path}/catalogue/unlisted/:provider_id`]: managed(200, { id: () => "groq", body: { terms: null } }),
    [`DELETE ${path}/catalogue/unlisted/:provider_id`]: managed(200, { id: someTerms }),
    [`GET ${path}/catalogue/files/:file_id`]: managed(200, { id: aFile }),
    [`POST ${path}/catalogue/files/:file_id`]: managed(200, {
      id: () => "openai",
      body: { content: { models: [] } },
    }),
    [`DELETE ${path}/catalogue/files/:file_id`]: managed(200, { id: aFile }),
    [`GET ${path}/alerts`]: managed(200),
    // No such alert is there.
    [`POST ${path}/alerts/:alert_id/mute`]: managed(404, { id: () => "disk_full", body: { hours: 1 } }),
    [`POST ${path}/alerts/:alert_id/unmute`]: managed(404, { id: () => "disk_full" }),
    [`GET ${path}/alerts/rules`]: managed(200),
    [`POST ${path}/alerts/rules/:rule_id`]: managed(200, { id: () => "budget", body: { enabled: true } }),
    [`GET ${path}/alerts/metric_rules`]: managed(200),
    [`POST ${path}/alerts/metric_rules`]: managed(200, { body: aMetricRule }),
    [`GET ${path}/alerts/metric_rules/:metric_rule_id`]: managed(200, { id: newMetricRule }),
    [`POST ${path}/alerts/metric_rules/:metric_rule_id`]: managed(200, { id: newMetricRule, body: aMetricRule }),
    [`DELETE ${path}/alerts/metric_rules/:metric_rule_id`]: managed(200, { id: newMetricRule }),
    [`GET ${path}/alerts/channels`]: managed(200),
    [`POST ${path}/alerts/channels`]: managed(200, { body: { kind: "email", to: ["ops@example.com"] } }),
    [`GET ${path}/alerts/channels/:channel_id`]: managed(200, { id: newChannel }),
    [`POST ${path}/alerts/channels/:channel_id`]: managed(200, { id: newChannel, body: { severity: "critical" } }),
    [`DELETE ${path}/alerts/channels/:channel_id`]: managed(200, { id: newChannel }),
    [`POST ${path}/alerts/channels/:channel_id/test`]: managed(200, { id: newChannel }),
    [`GET ${path}/mail_server`]: managed(200),
    [`PUT ${path}/mail_server`]: toRow({ ...toStatuses(200, 403), admin: 403 }, { body: aMailServer }),
    [`DELETE ${path}/mail_server`]: toRow({ ...toStatuses(200, 403), admin: 403 }, {}),
    [`GET ${path}/live_calls`]: ofUsage(),
    [`GET ${path}/projects/:project_id/statement`]: managed(200, { id: member }),
    [`GET ${path}/projects/:project_id/transactions`]: managed(200, { id: member }),
    [`GET ${path}/statements`]: managed(200),
    [`GET ${path}/statements/csv`]: managed(200),
    [`GET ${path}/requests`]: ofUsage(),
    [`GET ${path}/requests/:request_id`]: toRow(toStatuses(404, 404), { id: () => "unknown" }),
    [`GET ${path}/projects/:project_id/sessions/:session`]: toRow(toStatuses(200, 200), { id: aSession }),
    [`POST ${path}/projects/:project_id/sessions/:session/end`]: managed(200, { id: aSession, body: {} }),
    [`GET ${path}/nodes`]: ofUsage(),
    [`DELETE ${path}/live_calls/:call_id`]: managed(404, { id: () => "unknown" }),
    [`GET ${path}/audit_logs`]: managed(200),
    [`GET ${path}/config`]: managed(200),
    [`PUT ${path}/config`]: managed(200, { body: { accounts: [] } }),
  };
}
