/** Sends to the management API. */
function createSender(origin: string, key: string) {
  return async (path: string, body: object): Promise<{ id: string; value?: string }> => {
    const response = await fetch(`${origin}/v1/organization${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await response.json()) as { id: string; value?: string };
  };
}

/** What the paths of the management API name, and a person whom an example adds to a project. */
export async function prepareOrganization(origin: string, key: string): Promise<Record<string, string>> {
  const post = createSender(origin, key);
  const project = (await post("/projects", { name: "Test" })).id;
  const invite = async (email: string) => (await post("/invites", { email, role: "reader" })).id;
  const accountOf = (inviteId: string) => inviteId.replace("invite_", "");
  const newKey = async () => (await post(`/projects/${project}/api_keys`, { name: "a key" })).id;
  const provider = async (name: string) => {
    const models = [{ id: `${name}/llama`, upstreamId: "llama", premium: false }];
    // Nobody listens at this address.
    const manifest = { baseUrl: "http://127.0.0.1:9/v1", dialect: "openai", models };
    return (await post("/providers", { name, manifest, key: `first-key-of-${name}` })).id;
  };
  const providerKey = async (name: string, key: string) => (await post(`/providers/${name}/keys`, { key })).id;
  const budget = async (tag: string) =>
    (
      await post(`/projects/${project}/budgets`, {
        subject: "tag",
        name: tag,
        budget_usd: "1.00",
        budget_period: "day",
      })
    ).id;
  const gatewayBudget = async (tag: string) =>
    (await post("/budgets", { subject: "tag", name: tag, budget_usd: "1.00", budget_period: "day" })).id;
  const groupRole = async (path: string, group: string) =>
    (await post(`${path}/group_roles`, { group, role: "member" })).id;
  const limit = async (path: string, model: string) =>
    (await post(`${path}/rate_limits`, { model, max_requests_per_1_minute: 5 })).id;
  const markup = async (path: string, provider?: string) =>
    (await post(`${path}/markups`, { markup_percent: "20", ...(provider !== undefined && { provider }) })).id;
  // Its file is missing, so a closed one would refuse all calls.
  const policy = async (path: string, name: string) =>
    (await post(`${path}/policies`, { policy: name, order: 1, on_failure: "open" })).id;
  const reroute = async (name: string) => (await post("/reroutes", { subject: "provider", name })).id;
  const condition = { metric: "calls", scope: "gateway", comparison: "above", threshold: "5", minutes: 60 };
  const metricRule = async () => (await post("/alerts/metric_rules", { name: "calls", ...condition })).id;
  const channel = async () => (await post("/alerts/channels", { kind: "email", to: ["ops@example.com"] })).id;
  const issuer = async (id: string) =>
    (await post("/jwt_issuers", { issuer: id, audiences: ["modelgate"], claims: { account: "email" } })).id;
  const providerId = await provider("test-a");
  await post("/catalogue/files/openai", { content: { models: [] } });
  return {
    project_id: project,
    role: "viewer",
    provider_id: providerId,
    ended_provider_id: await provider("test-b"),
    provider_key_id: await providerKey(providerId, "key-to-be-replaced"),
    ended_provider_key_id: await providerKey(providerId, "key-to-be-deleted"),
    file_id: "openai",
    rule_id: "budget",
    metric_rule_id: await metricRule(),
    ended_metric_rule_id: await metricRule(),
    reroute_id: await reroute("groq"),
    ended_reroute_id: await reroute("mistral"),
    channel_id: await channel(),
    ended_channel_id: await channel(),
    catalogue_model_id: "openai:famA-4.1-nano",
    group_role_id: await groupRole(`/projects/${project}`, "a"),
    ended_group_role_id: await groupRole(`/projects/${project}`, "b"),
    gateway_group_role_id: await groupRole("", "c"),
    ended_gateway_group_role_id: await groupRole("", "d"),
    issuer: await issuer("https://id.example.com"),
    ended_issuer: await issuer("https://other.example.com/realms/test"),
    markup_id: await markup(`/projects/${project}`),
    gateway_markup_id: await markup("", "openai"),
    ended_gateway_markup_id: await markup("", "groq"),
    policy_id: await policy(`/projects/${project}`, "a"),
    ended_policy_id: await policy(`/projects/${project}`, "b"),
    gateway_policy_id: await policy("", "c"),
    ended_gateway_policy_id: await policy("", "d"),
    budget_id: await budget("a"),
    gateway_budget_id: await gatewayBudget("test"),
    ended_gateway_budget_id: await gatewayBudget("ended"),
    ended_budget_id: await budget("b"),
    key_id: await newKey(),
    ended_key_id: await newKey(),
    voucher_id: (await post("/vouchers", { usd: "1.00" })).id,
    admin_key_id: (await post("/admin_api_keys", { name: "a key", scopes: ["usage:read"] })).id,
    ended_service_account_id: (await post(`/projects/${project}/service_accounts`, { name: "job" })).id,
    service_account_id: (await post(`/projects/${project}/service_accounts`, { name: "job" })).id,
    user_id: accountOf(await invite("ada@example.com")),
    ended_user_id: accountOf(await invite("ben@example.com")),
    invite_id: await invite("carl@example.com"),
    ended_invite_id: await invite("dan@example.com"),
    rate_limit_id: await limit(`/projects/${project}`, "gpt-4.1"),
    ended_rate_limit_id: await limit(`/projects/${project}`, "gpt-4.1-mini"),
    shared_rate_limit_id: await limit("", "gpt-4.1"),
    ended_shared_rate_limit_id: await limit("", "gpt-4.1-mini"),
  };
}

/**
 * Makes a session of the project, whose one call was made by the agent that the example of its end names; a paid call needs money.
 * Returns its name.
 */
export async function prepareSession(origin: string, key: string, project: string): Promise<string> {
  const post = createSender(origin, key);
  await post(`/projects/${project}/credits`, { usd: "1.00", note: "for a session" });
  const { value } = await post(`/projects/${project}/api_keys`, { name: "agent" });
  const names = { "session-id": "a-session", "x-modelgate-agent": "a3f29c01d7e45b688" };
  await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${value}`, "content-type": "application/json", ...names },
    body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: "Hi" }] }),
  });
  return names["session-id"];
}
