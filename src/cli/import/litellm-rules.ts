import type { TableRules } from "./losses.ts";

/**
 * The list of what the import from LiteLLM understands. Names and defaults of its newest schema are in `foreign-schemas.json`, which
 * `bun run import:refresh` writes; a test names each column that is in neither list.
 */

const times = ["created_at", "created_by", "updated_at", "updated_by"];

/** Tables that the import reads, by the names that notes and `--accept` have for them. */
export const litellmTables = {
  keys: {
    table: "LiteLLM_VerificationToken",
    used: [
      ...[
        "token",
        "key_name",
        "key_alias",
        "spend",
        "expires",
        "models",
        "user_id",
        "team_id",
        "project_id",
        "organization_id",
      ],
      ...["max_parallel_requests", "metadata", "blocked", "tpm_limit", "rpm_limit", "max_budget", "budget_duration"],
      ...["model_max_budget", "budget_id", "budget_limits", "key_type", "allowed_routes", "object_permission_id"],
    ],
    harmless: [
      ...times,
      ...[
        "soft_budget_cooldown",
        "total_spend",
        "budget_reset_at",
        "model_spend",
        "settings_updated_at",
        "last_active",
      ],
      ...["rotation_count", "last_rotation_at", "key_rotation_at"],
    ],
    restricting: ["policies", "tpd_limit", "access_group_ids"],
    // Rights to manage LiteLLM, prompt caches, what to do when a budget is spent, other names of models, and keys that change by themselves.
    noted: [
      ...[
        "permissions",
        "allowed_cache_controls",
        "budget_fallbacks",
        "aliases",
        "config",
        "router_settings",
        "agent_id",
      ],
      ...["auto_rotate", "rotation_interval"],
    ],
  },
  teams: {
    table: "LiteLLM_TeamTable",
    used: [
      ...[
        "team_id",
        "team_alias",
        "organization_id",
        "metadata",
        "max_budget",
        "spend",
        "models",
        "max_parallel_requests",
      ],
      ...[
        "tpm_limit",
        "rpm_limit",
        "budget_duration",
        "blocked",
        "model_max_budget",
        "budget_limits",
        "object_permission_id",
      ],
      ...["members", "members_with_roles"],
    ],
    // The models of new members are in the budgets of those who came.
    harmless: [
      ...[...times, "admins", "soft_budget", "budget_reset_at", "model_spend", "team_member_permissions"],
      ...["default_team_member_models"],
    ],
    restricting: ["policies", "tpd_limit", "access_group_ids"],
    noted: ["allow_team_guardrail_config", "router_settings", "model_id"],
  },
  users: {
    table: "LiteLLM_UserTable",
    used: [
      ...["user_id", "user_alias", "user_email", "max_budget", "spend", "models", "max_parallel_requests", "tpm_limit"],
      ...["rpm_limit", "budget_duration", "model_max_budget", "metadata", "object_permission_id"],
    ],
    harmless: [
      ...times,
      ...[
        "team_id",
        "teams",
        "sso_user_id",
        "organization_id",
        "password",
        "password_reset_required",
        "last_breach_check_at",
      ],
      ...["budget_reset_at", "model_spend", "user_role"],
    ],
    restricting: ["policies"],
    noted: ["allowed_cache_controls"],
  },
  budgets: {
    table: "LiteLLM_BudgetTable",
    used: [
      ...["budget_id", "max_budget", "max_parallel_requests", "tpm_limit", "rpm_limit", "model_max_budget"],
      ...["budget_duration", "allowed_models"],
    ],
    // A temporary increase makes a budget looser.
    harmless: [...times, "soft_budget", "budget_reset_at", "temp_budget_increase", "temp_budget_expiry"],
    restricting: ["tpd_limit"],
  },
  projects: {
    table: "LiteLLM_ProjectTable",
    used: [
      ...["project_id", "budget_id", "metadata", "models", "spend", "model_rpm_limit"],
      ...["model_tpm_limit", "blocked", "object_permission_id"],
    ],
    harmless: [...times, "project_alias", "team_id", "description", "model_spend"],
  },
  organizations: {
    table: "LiteLLM_OrganizationTable",
    used: ["organization_id", "budget_id", "models", "spend", "metadata", "object_permission_id"],
    harmless: [...times, "organization_alias", "model_spend"],
  },
  team_members: {
    table: "LiteLLM_TeamMembership",
    used: ["user_id", "team_id", "spend", "budget_id"],
    harmless: ["total_spend"],
  },
  organization_members: {
    table: "LiteLLM_OrganizationMembership",
    used: ["user_id", "organization_id", "spend", "budget_id"],
    harmless: [...times, "user_role"],
  },
  object_permissions: {
    table: "LiteLLM_ObjectPermissionTable",
    used: ["object_permission_id"],
    // MCP servers, vector stores, agents and other parts of LiteLLM that this gateway does not have.
    harmless: [
      ...["mcp_servers", "mcp_access_groups", "mcp_tool_permissions", "vector_stores", "agents", "agent_access_groups"],
      ...["mcp_toolsets", "search_tools", "mcp_tool_search_enabled", "skills"],
    ],
    restricting: ["models", "blocked_tools"],
  },
  end_users: {
    table: "LiteLLM_EndUserTable",
    used: [],
    harmless: ["user_id", "alias", "spend", "default_model"],
    restricting: ["budget_id", "blocked", "allowed_model_region", "models", "object_permission_id"],
  },
  tags: {
    table: "LiteLLM_TagTable",
    used: [],
    harmless: [...times, "tag_name", "description", "models", "model_info", "spend"],
    restricting: ["budget_id"],
  },
  model_access_groups: {
    table: "LiteLLM_ModelAccessGroupBudgetTable",
    used: [],
    harmless: [...times, "access_group_name", "spend"],
    restricting: ["budget_id"],
  },
  models: {
    table: "LiteLLM_ProxyModelTable",
    used: ["model_name", "litellm_params", "model_info", "blocked"],
    harmless: [...times, "model_id"],
  },
  config: {
    table: "LiteLLM_Config",
    used: ["param_name", "param_value"],
    harmless: ["last_run_at", "reload_revision"],
  },
} as const satisfies Readonly<Record<string, TableRules & { readonly table: string }>>;

export type LiteLlmTable = keyof typeof litellmTables;

/** Fields of the column `metadata`, where LiteLLM has more of what it enforces. */
export const metadataRules: Readonly<Record<"keys" | "teams" | "users" | "projects" | "organizations", TableRules>> = {
  keys: {
    used: ["model_rpm_limit", "model_tpm_limit"],
    harmless: [
      ...[
        "tags",
        "description",
        "service_account_id",
        "temp_budget_increase",
        "temp_budget_expiry",
        "model_max_budget_alert_emails",
      ],
      ...[
        "max_budget_alert_emails",
        "rpm_limit_type",
        "tpm_limit_type",
        "allowed_passthrough_routes",
        "created_by_ui",
        "logging",
      ],
    ],
    restricting: ["guardrails"],
  },
  teams: {
    used: ["model_rpm_limit", "model_tpm_limit", "team_member_budget_id"],
    harmless: [
      ...[
        "tags",
        "description",
        "team_member_key_duration",
        "soft_budget_alerting_emails",
        "logging",
        "model_max_budget_alert_emails",
      ],
      ...["max_budget_alert_emails", "rpm_limit_type", "tpm_limit_type", "allowed_passthrough_routes"],
    ],
    restricting: ["guardrails"],
  },
  users: { used: ["model_rpm_limit", "model_tpm_limit"], harmless: ["tags", "auth_provider", "preferences"] },
  projects: { used: [], harmless: ["tags", "description"], restricting: ["guardrails"] },
  organizations: { used: ["model_rpm_limit", "model_tpm_limit"], harmless: ["tags", "description"] },
};

/** Kinds of keys that may call models. Others only manage or read LiteLLM. */
export const callingKeyTypes: ReadonlySet<string> = new Set(["llm_api", "default"]);
/** Groups of routes that let a key call models. Other routes do not call models. */
export const callingRoutes: ReadonlySet<string> = new Set(["llm_api_routes", "openai_routes"]);
export const managingRoutes =
  /^(management_routes|info_routes|ui_routes|spend_tracking_routes|global_spend_tracking_routes|\/(key|team|user|customer|spend|global|model|health)\/)/;

/** Tables that say nothing about who may do what: what was spent, logs, work of LiteLLM itself. */
export const harmlessTables =
  /^(LiteLLM_(SpendLogs|ErrorLogs|AuditLog|Daily\w+|Deleted\w+|HealthCheckTable|CronJob|ProxyWorkerHeartbeat|UserNotifications|InvitationLink|BudgetWindowSpend|SpendLog\w+|Managed\w+|Lens\w*|ShadowEval\w+|AutoRouter\w+|AdaptiveRouter\w+|Workflow\w+|TelemetryReport|BackgroundInteractionSettlement|MemoryTable|UISettings|SSOConfig|CacheConfig|SSOIdentityAssertion|VerifiedSubject|RetiredAgent\w*|ClaudeCodePluginTable|SkillsTable|PromptTable|SearchToolsTable|MCP\w+|ModelTable)|_prisma_migrations)$/;

/** Parts of the file, and of the table `LiteLLM_Config`. */
export const settingRules = {
  litellm_settings: {
    used: [
      "fallbacks",
      "context_window_fallbacks",
      "callbacks",
      "success_callback",
      "cache",
      "content_policy_fallbacks",
    ],
    harmless: [
      ...[
        "drop_params",
        "set_verbose",
        "num_retries",
        "request_timeout",
        "telemetry",
        "json_logs",
        "allowed_fails",
        "default_soft_budget",
      ],
      ...[
        "budget_exceeded_status_code",
        "bedrock_neutralize_orphaned_tool_blocks",
        "disable_add_transform_inline_image_block",
      ],
      ...[
        "disable_stop_sequence_limit",
        "user_url_allowed_hosts",
        "provider_url_destination_allowed_hosts",
        "max_ui_session_budget",
      ],
      ...["disable_end_user_cost_tracking_prometheus_only", "enable_end_user_cost_tracking_prometheus_only"],
      ...["prometheus_emit_rate_limit_labels", "prometheus_initialize_budget_metrics", "budget_rollover"],
      ...["prometheus_user_budget_label_include_email_alias", "default_key_max_budget_alert_emails"],
    ],
  },
  general_settings: {
    used: ["master_key", "allowed_ips", "apply_user_budget_to_team_keys"],
    harmless: [
      ...[
        "database_url",
        "database_connection_pool_limit",
        "proxy_budget_rescheduler_max_time",
        "proxy_budget_rescheduler_min_time",
      ],
      ...[
        "store_model_in_db",
        "alerting",
        "alerting_threshold",
        "admin_only_routes",
        "public_routes",
        "allowed_file_extensions",
      ],
      ...[
        "blocked_file_extensions",
        "allowed_client_side_s3_buckets",
        "allowed_client_side_s3_endpoint_urls",
        "mcp_allowed_clients",
      ],
      ...[
        "disable_reset_budget",
        "disable_budget_reservation",
        "failed_login_block_seconds",
        "maximum_spend_logs_cleanup_run_budget",
      ],
      ...["model_list_healthy_only", "return_wildcard_routes", "self_serve_budget_policy", "token_rate_limit_type"],
      ...["skip_batch_input_file_rate_limiting_for_models", "skip_batch_input_file_rate_limiting_for_providers"],
      ...[
        "disable_batch_input_file_rate_limiting",
        "disable_fallbacks_on_per_model_rate_limits",
        "search_tool_deny_by_default",
      ],
      ...[
        "disable_retry_on_max_parallel_request_limit_error",
        "fail_closed_budget_enforcement",
        "agent_access_default_deny",
      ],
      ...[
        "fail_closed_rate_limit_enforcement",
        "responses_websocket_session_limit_seconds",
        "vector_store_deny_by_default",
      ],
      ...["user_url_allowed_hosts", "provider_url_destination_allowed_hosts", "password_policy_min_length"],
      ...["password_policy_require_lowercase", "password_policy_require_uppercase", "password_policy_require_numbers"],
      ...["password_policy_require_special_characters", "password_policy_check_breached_passwords"],
    ],
  },
  router_settings: {
    used: ["model_group_alias", "fallbacks", "context_window_fallbacks"],
    harmless: [
      ...[
        "routing_strategy",
        "num_retries",
        "timeout",
        "cooldown_time",
        "allowed_fails",
        "allowed_fails_policy",
        "redis_host",
      ],
      ...[
        "redis_port",
        "redis_password",
        "redis_url",
        "fallback_budget_check",
        "model_group_retry_policy",
        "retry_policy",
      ],
      ...["auto_router_capability_limit", "enable_pre_call_checks"],
    ],
  },
} as const satisfies Readonly<Record<string, TableRules>>;

/** Fields of one deployment of a model. What restricts it leaves it out. */
export const deploymentRules = {
  litellm_params: {
    used: ["model", "api_key", "api_base", "weight", "input_cost_per_token", "output_cost_per_token"],
    harmless: [
      "custom_llm_provider",
      "api_version",
      "timeout",
      "stream_timeout",
      "max_retries",
      "allowed_openai_params",
    ],
    // LiteLLM uses these bounds only to choose among deployments.
    noted: ["rpm", "tpm"],
  },
  model_info: {
    used: ["input_cost_per_token", "output_cost_per_token"],
    harmless: [
      "id",
      "db_model",
      "mode",
      "base_model",
      "max_tokens",
      "max_input_tokens",
      "max_output_tokens",
      "litellm_provider",
      ...times,
    ],
    restricting: ["team_id"],
  },
} as const satisfies Readonly<Record<string, TableRules>>;
