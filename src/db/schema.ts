import type { Generated } from "kysely";
import type { Budget, BudgetSubject, CacheMissKind, Capability, MeterColumn, UsageSource } from "../contract/index.ts";

/**
 * Every table. In column names `_at` is milliseconds since 1970, `day` a UTC day and `hour` a UTC hour counted from 1970,
 * `_nanodollars` a billionth of a dollar. Flags are 0 or 1.
 */
export interface Database {
  accounts: AccountsTable;
  keys: KeysTable;
  /**
   * Accounts and keys that an import made from another gateway's: `target` is the account or key here, `ref` its id
   * there.
   */
  imported: { source: string; kind: "account" | "key"; ref: string; target: string; imported_at: number };
  service_accounts: ServiceAccountsTable;
  admin_keys: AdminKeysTable;
  /** Accounts and keys by their numbers; `account_no`: the account of a key, or the account itself. */
  payers: { no: number; id: string; account_no: number | null };
  /** Models and other names that calls repeat, by number. */
  names: { id: Generated<number>; name: string };
  /** As they are written: payers and names are numbers. `open_calls` and `calls` are views of them. */
  open_call_rows: CallRow<Omit<OpenCallsTable, "id_bytes" | "account_no" | "key_no">>;
  call_rows: CallRow<Omit<CallsTable, "id_bytes" | "account_no" | "key_no" | "error_no">>;
  open_calls: OpenCallsTable;
  calls: CallsTable;
  refusals: RefusalsTable;
  transactions: TransactionsTable;
  /** The balance of each account: its transactions without the charges of its calls, written with each of them. */
  wallets: { account_id: string; balance_nanodollars: number };
  /** As they are written, by the number of the account; `wallets` and `daily_charges` are views of them. */
  wallet_rows: { account_id: number; balance_nanodollars: number };
  /** The rows of sessions, with the first day of the session's run: since that day it has not been silent for a day. */
  session_spending: Omit<SpendingTable, "first_at"> & { run: number };
  /** The charges of accounts and of keys in `spending`. */
  daily_charges: { account_id: string; day: number; charged_nanodollars: number };
  key_charges: { account_id: string; key_id: string; day: number; charged_nanodollars: number };
  /** Free quota used, one row per account and day. */
  daily_quota_usage: QuotaUsageTable;
  spending: SpendingTable;
  budgets: BudgetsTable;
  model_limits: ModelLimitsTable;
  markups: MarkupsTable;
  policies: PoliciesTable;
  role_limits: RoleLimitsTable;
  opening_balances: OpeningBalancesTable;
  /**
   * Live processes that share the database, and their leases; `seen_at` is by the clock of the database, `report` the JSON of a
   * `NodeReport`, absent of commands.
   */
  nodes: { id: string; seen_at: number; lease: number; report: string | null };
  /** Counts changes of rows that processes cache, for those that missed a notification. */
  revisions: { name: "copies"; revision: number };
  users: UsersTable;
  credentials: CredentialsTable;
  two_factors: TwoFactorsTable;
  sessions: SessionsTable;
  /** One-time values of better-auth. */
  verifications: Record<"id" | "identifier" | "value" | "expires_at" | "created_at" | "updated_at", string>;
  invitations: InvitationsTable;
  email_verifications: EmailVerificationsTable;
  memberships: MembershipsTable;
  directory_groups: DirectoryGroupsTable;
  /** The people of the groups of an identity provider. */
  directory_members: { group_id: string; user_id: string };
  group_roles: GroupRolesTable;
  team_invitations: TeamInvitationsTable;
  /** Attempts to sign in within a time window, by limit; `key` has no e-mail address in clear text. */
  sign_in_attempts: { key: string; attempts: number; ends_at: number };
  oauth_requests: OauthRequestsTable;
  oauth_grants: OauthGrantsTable;
  vouchers: VouchersTable;
  audit: AuditTable;
  /** Generated files that are served until they expire. */
  blobs: { id: string; media_type: string; bytes: Uint8Array; expires_at: number };
  stored_responses: StoredResponsesTable;
  idempotency_keys: IdempotencyKeysTable;
  /** Branches of sessions whose calls are refused until then; `agent` is empty for all of a session. */
  ended_branches: { account_id: string; session: string; agent: string; ended_at: number; refused_until: number };
  /** From where keys were used: requests by key, day since 1970, network and program; both are `*` for the rest. */
  key_callers: {
    key_id: string;
    day: number;
    network: string;
    program: string;
    requests: number;
    first_at: number;
    last_at: number;
  };
  /** Values that the gateway generates once, such as the secret that signs image URLs. */
  settings: { name: string; value: string };
  providers: ProvidersTable;
  reroutes: ReroutesTable;
  provider_keys: ProviderKeysTable;
  /** Each price that a model has had here, by the version that calls record; `rates` is the JSON of a `CompiledPrice`. */
  prices: { version: string; rates: string };
  /** When the price of a model became another one; the first row of a model is its first price here. */
  price_changes: { model: string; changed_at: number; version: string };
  provider_attempts: ProviderAttemptsTable;
  provider_outcomes: ProviderOutcomesTable;
  route_resumes: RouteResumesTable;
  contents: ContentsTable;
  content_switches: ContentSwitchesTable;
  /** As they are written: a figure that is 0 is null. `usage` is a view of them. */
  usage_rows: UsageRows;
  usage: UsageTable;
  usage_tops: UsageTopsTable;
  usage_progress: UsageProgressTable;
  alert_channels: AlertChannelsTable;
  alert_rules: AlertRulesTable;
  alerts: AlertsTable;
  alert_history: AlertHistoryTable;
  alert_mutes: AlertMutesTable;
  metric_rules: MetricRulesTable;
  alert_messages: AlertMessagesTable;
  alert_turns: AlertTurnsTable;
  /**
   * Migrations that have run. `hash` is the hash of their text; `parts` lists the names of all parts of the schema of
   * PostgreSQL, as JSON.
   */
  schema_versions: { version: number; hash: string; applied_at: number; parts: string | null };
}

/** Account holders. A null limit falls back to the limit of the holder's role, then to the configuration. */
interface AccountsTable {
  id: string;
  /** Lower case, unique. */
  email: string;
  name: string | null;
  free_tokens_per_day: number | null;
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  concurrent_calls: number | null;
  created_at: number;
  /** Its keys and users are refused; null: they are not. */
  disabled_at: number | null;
  /** JSON array of ids; null: all models. */
  allowed_models: Generated<string | null>;
  /** The own account of the person who founded this team; null: an account that nobody founded as one. */
  founded_by: Generated<string | null>;
  /** 1: its own budget bounds its premium calls instead of the wallet, which then shows the amount owed. */
  billed_afterwards: Generated<number>;
}

/** API keys. A limit that is null does not apply to the key. */
interface KeysTable {
  /** The public part of the key. */
  id: string;
  account_id: string;
  name: string;
  /** SHA-256 of the secret part, hex; the secret itself is not stored. */
  secret_hash: string;
  /** JSON array of model ids; null: all models. */
  allowed_models: string | null;
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  concurrent_calls: number | null;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  /** Accurate to a few seconds; null: never. */
  last_used_at: number | null;
  /** The account of the person who made it, or `cli`; null: unknown. */
  created_by: Generated<string | null>;
  /** The actor that was given the secret of the latest rotation; null: it was not rotated. */
  rotated_by: Generated<string | null>;
  /** When that was. */
  rotated_at: Generated<number | null>;
  /** JSON array of addresses and CIDR ranges; null: any. */
  allowed_networks: Generated<string | null>;
  /** `off`: the gateway marks no prompts for caches; null: it may. */
  cache_marks: Generated<"off" | null>;
  /**
   * The hash of the secret before the last rotation, which is valid until `previous_until`; both are null without a
   * rotation.
   */
  previous_secret_hash: Generated<string | null>;
  previous_until: Generated<number | null>;
  /** The service account whose key it is; null: it is of a person or a command. */
  service_account_id: Generated<string | null>;
  /** The subject whose tokens (JWT) this key stands for, and their issuer; null: it has a secret of its own. */
  token_issuer: Generated<string | null>;
  token_subject: Generated<string | null>;
  /** Hash that finds a key of another gateway, which has no id of ours: see `foreign-key.ts`; null for our own keys. */
  foreign_hash: Generated<string | null>;
  /**
   * 1: the same key can be made again from outside, by a start, an import or a token. Its row is kept when it has
   * ended, otherwise it would become valid again.
   */
  may_return: Generated<number>;
  /**
   * Restrictions of another gateway that make an import hold the key back: it is revoked until they are accepted. Null:
   * no restrictions.
   */
  held_for: Generated<string | null>;
}

/** Budgets: see `Budget` of the contract. */
export interface BudgetsTable {
  id: string;
  /** The number of the id: `spending` refers to budgets with names by it. */
  no: number;
  account_id: string;
  /** Null: all keys of the account. */
  key_id: string | null;
  subject: BudgetSubject;
  /** Null: each by itself. */
  name: string | null;
  budget_nanodollars: number;
  budget_period: Budget["period"];
  /** Added to it until `raise_until`; both are null without a raise. */
  raise_nanodollars: number | null;
  raise_until: number | null;
  created_at: number;
  /** The first day whose calls it counts. */
  counted_from: number;
  /** Calls up to this `seq` ended before the budget was made and are still to be counted; null: all are counted. */
  counted_to: number | null;
}

/** Limits of the calls of one model; null: it does not bind. */
export interface ModelLimitsTable {
  id: string;
  /** Empty: every account that has no limits for this model, each by itself. */
  account_id: string;
  /** Empty: all keys of the account together. */
  key_id: string;
  model: string;
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  concurrent_calls: number | null;
  created_at: number;
}

/** Where policies apply. */
export interface PoliciesTable {
  id: string;
  /** Empty: every account. */
  account_id: string;
  /** Empty: every key. */
  key_id: string;
  /** The id of a model; empty: every model. */
  model: string;
  /** The name of the policy. */
  policy: string;
  /** Lower figures come first. */
  position: number;
  on_failure: "closed" | "open";
  created_at: number;
}

/** Percentages above the prices of providers. */
export interface MarkupsTable {
  id: string;
  /** Empty: every account without a markup of its own. */
  account_id: string;
  /** Empty: the prices of all providers. */
  provider: string;
  /** Hundredths of a percent. */
  basis_points: number;
  created_at: number;
}

/** Limits of accounts by the role of their holder; null: the limit of the configuration. */
export interface RoleLimitsTable {
  role: AccountRole;
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  concurrent_calls: number | null;
  free_tokens_per_day: number | null;
}

/** Drawn from the daily free quota, one row per account and UTC day. */
interface QuotaUsageTable {
  account_id: string;
  /** Days since 1970. */
  day: number;
  used_tokens: number;
  /**
   * For a row dated more than a day ahead: the day that it counts for, which is the first day of a correct clock that
   * saw it.
   */
  counted_day: Generated<number | null>;
}

/**
 * Cost of the calls that began on a UTC day, one row for each account, key, and name that a budget counts.
 *
 * A row of a future day was written while a clock was wrong, or is read while a clock is wrong. It counts for the
 * budgets of the current day. If it is more than a day ahead, it counts only on the first such day, which is stored in
 * `counted_day`. So a wrong clock neither creates a budget nor uses one up for long.
 */
interface SpendingTable {
  /** The number of the account in `payers`. */
  account_id: number;
  /** The number of the account, of the key, or of the budget. */
  subject_id: number;
  /** Empty of an account and a key, and of calls that name nobody. */
  name: string;
  day: number;
  spent_nanodollars: number;
  /** When the first of its calls began and the last one ended; null where the name is no session. */
  first_at: number | null;
  last_at: number | null;
  counted_day: number | null;
}

/**
 * `open`: the hold is written and the call may be at a provider. `settled`: charged by its usage. `released`: it produced
 * nothing and costs nothing. `abandoned`: its process died, so its usage is unknown.
 */
export type CallState = "open" | "settled" | "released" | "abandoned";

/**
 * One row for each call that runs, with its hold: inserted when it is admitted, changed when the hold is extended, deleted
 * when it ends.
 */
interface OpenCallsTable {
  /** Sorts by time; the response's `x-request-id`. */
  id: string;
  /** The id as stored; indexes find rows by it. */
  id_bytes: Uint8Array;
  /** The numbers of payers; indexes find calls by them. */
  account_no: number;
  key_no: number;
  account_id: string;
  key_id: string;
  model: string;
  capability: Capability;
  /** 1: paid from the wallet; 0: drawn from the daily free quota. */
  premium: number;
  opened_at: number;
  /** The day whose quota the call draws on; null for a premium call. */
  quota_day: number | null;
  hold_nanodollars: number;
  hold_tokens: number;
  price_version: string | null;
  /** The markup on the price; null: none. */
  markup_basis_points: number | null;
  /** The client's own name of its session; null: it sent none. */
  session: string | null;
  /** The client's own name of requests of this kind; null: it sent none. */
  tag: string | null;
  /** For whom the client made it, by its own word or by its token; null: it named nobody. */
  end_user: string | null;
  /** The agent of its session that made it, by the client's own word; null: the session itself. */
  agent: string | null;
  /** The agent that started that one; null: the session itself. */
  parent_agent: string | null;
  /** The process that runs the call; null in the embedded store. */
  node_id: string | null;
}

/**
 * One row for each call that has ended, inserted when it ends. It is never updated, with one exception: a call that was
 * taken for abandoned is settled once if its process lives after all.
 */
interface CallsTable extends OpenCallsTable, Record<MeterColumn, number | null> {
  /** Numbers the ends of calls in the order of writing. */
  seq: Generated<number>;
  state: Exclude<CallState, "open">;
  settled_at: number;
  usage_source: UsageSource | null;
  /** Cost of the usage at the price of the account; null: unknown. */
  cost_nanodollars: number | null;
  /** The amount that the provider is owed: the cost without the markup, or at the price of its own row. */
  provider_cost_nanodollars: number | null;
  /** The price of the provider's own row, where what it is owed follows from that; null: from the price of the call. */
  provider_price_version: string | null;
  /** Paid by the wallet. */
  charged_nanodollars: number | null;
  /** Drawn from the free quota. */
  quota_tokens: number | null;
  /** Why less of the prompt was read from a cache than promised; null: nothing was missed, or it is unknown. */
  cache_miss: CacheMissKind | null;
  /** The changed part of the request, such as `tools[3]`; null: no part of it. */
  cache_miss_place: string | null;
  cache_missed_tokens: number | null;
  /** Cost of the missed tokens beyond the rate of a cache. */
  cache_lost_nanodollars: number | null;
  /** Amount that the tokens read from a cache would have cost more as input. */
  cache_saved_nanodollars: number | null;
  plugin: string | null;
  status: number | null;
  error_code: string | null;
  error_no: number | null;
  first_byte_ms: number | null;
  duration_ms: number | null;
  /** The client's protocol; null for capabilities other than chat. */
  protocol: string | null;
  client_request_id: string | null;
  /** JSON of a `CallDetail`; null: nothing to tell. */
  detail: string | null;
}

/** A row as it is stored: bytes for its id, numbers for payers and names. */
type CallRow<View> = {
  [Column in keyof View]: Column extends "id" ? Uint8Array : Column extends NamedColumn ? number : View[Column];
};

/** Columns that are numbers of `payers` and `names`. */
type NamedColumn =
  | "account_id"
  | "key_id"
  | "model"
  | "capability"
  | "price_version"
  | "provider_price_version"
  | "node_id"
  | "state"
  | "usage_source"
  | "cache_miss"
  | "plugin"
  | "error_code"
  | "protocol";

/** Movements of wallets other than charges of calls; append-only. */
interface TransactionsTable {
  /** `credit:<account>:<reference>`, of a payment, a voucher or a reversal: the primary key prevents repeats. */
  id: string;
  account_id: string;
  kind: "credit" | "debit";
  /** Negative for a debit. */
  amount_nanodollars: number;
  note: string | null;
  at: number;
}

/** Sums over the pruned calls of an account, kept to verify the ledger. */
interface OpeningBalancesTable extends UsageColumns {
  account_id: string;
  /** Every pruned call began, ended and drew its quota before this day. */
  before_day: number;
  calls: number;
}

/**
 * `owner` may do everything, `admin` too, except to owners; `viewer` sees everything and changes nothing; `member` sees and
 * changes only what concerns the own account.
 */
export type Role = "owner" | "admin" | "viewer" | "member";

/**
 * Role of an account's holder; `none` if no user signs in to the account, such as the account of a team or a program.
 */
export type AccountRole = Role | "none";

/** People who sign in, each the holder of an account. In this and the next four tables better-auth writes times as ISO text. */
interface UsersTable {
  id: string;
  account_id: string;
  /** Lower case, unique. */
  email: string;
  name: string;
  role: Role;
  /** 1: it was set by someone else and must be changed. */
  password_is_temporary: number;
  two_factor_enabled: Generated<number>;
  email_verified: number;
  image: string | null;
  /** The team of the next session; null: the user's own account. */
  current_account_id: Generated<string | null>;
  /** The id of the person at the identity provider that provisions users; null: none has set it. */
  external_id: Generated<string | null>;
  /** When that provider deleted them; null: it did not. It no longer sees them while they are disabled. */
  deprovisioned_at: Generated<number | null>;
  created_at: string;
  updated_at: string;
}

/** A user's password, or account at an identity provider. */
interface CredentialsTable {
  id: string;
  user_id: string;
  /** `credential` for a password. */
  provider_id: string;
  provider_account_id: string;
  password_hash: string | null;
  access_token: string | null;
  refresh_token: string | null;
  id_token: string | null;
  access_token_expires_at: string | null;
  refresh_token_expires_at: string | null;
  scope: string | null;
  created_at: string;
  updated_at: string;
}

/** Secrets of the second factor, encrypted by better-auth. */
interface TwoFactorsTable {
  id: string;
  user_id: string;
  secret: string;
  backup_codes: string;
  /** 1: a first code was correct. */
  verified: number;
}

/** Signed-in browsers. */
interface SessionsTable {
  id: string;
  token: string;
  user_id: string;
  expires_at: string;
  ip_address: string | null;
  user_agent: string | null;
  created_at: string;
  updated_at: string;
  /** Milliseconds since 1970, accurate to a few minutes; null: not used since it began. */
  last_used_at: Generated<number | null>;
  /** The account that the session acts in; null: the user's own account. */
  account_id: Generated<string | null>;
}

/** Codes worth money, each redeemed once. */
interface VouchersTable {
  /** Public, for lists. */
  id: string;
  /** SHA-256 of the code, hex. */
  code_hash: string;
  amount_nanodollars: number;
  created_at: number;
  expires_at: number | null;
  voided_at: number | null;
  redeemed_at: number | null;
  /** The account whose wallet was credited. */
  redeemed_by: string | null;
}

/** Actions of administrators, append-only; `account_id` is theirs. */
interface AuditTable {
  id: string;
  at: number;
  account_id: string;
  /** The user of the operating system who ran a command; null for every other actor, or where it has no name. */
  os_user: Generated<string | null>;
  /** `account.credit`, for example. */
  action: string;
  /** Id of the object of the action. */
  subject: string;
  /** JSON of the parameters. */
  detail: string;
}

/** Admin keys: they manage the gateway and make no calls. */
export interface AdminKeysTable {
  /** The public part of the key. */
  id: string;
  name: string;
  /** SHA-256 of the secret part, hex; the secret itself is not stored. */
  secret_hash: string;
  /** JSON array of scopes. */
  scopes: string;
  /** JSON array of addresses and CIDR ranges; null: any. */
  allowed_networks: string | null;
  /** Its maker: the account of a person, `cli`, or another admin key. */
  created_by: string;
  /** The person, or `cli`, without whose rights it is worth nothing: who made it, or the key that made it. */
  vouched_by: string;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  /** Accurate to a minute; null: never. */
  last_used_at: number | null;
}

/** Programs that have API keys in an account, as people have. */
export interface ServiceAccountsTable {
  id: string;
  account_id: string;
  name: string;
  created_at: number;
  /** Its maker, as {@link AdminKeysTable} has it. */
  created_by: string;
}

/** Role of a person in a team: an `admin` also manages its people, invitations, alerts and the keys of others. */
export type TeamRole = "admin" | "member";

/** People of an account besides its holder, who is always an admin of it. */
export interface MembershipsTable {
  account_id: string;
  user_id: string;
  role: TeamRole;
  joined_at: number;
}

/** Groups that an identity provider has pushed. */
interface DirectoryGroupsTable {
  id: string;
  name: string;
  /** The name in lower case: `group_roles` refers to groups by it. */
  name_key: string;
  /** The id of the group at the identity provider; null: it has set none. */
  external_id: string | null;
  created_at: number;
}

/** Roles that the members of a group have, in a team or in the gateway. */
export interface GroupRolesTable {
  id: string;
  /** The account of the team; empty: the gateway. */
  account_id: string;
  group_name: string;
  name_key: string;
  role: Role;
  /** `keep`: the keys that a member made in the team stay when they leave the group or are disabled; null: they end. */
  leavers_keys: "keep" | null;
  created_at: number;
}

/** Links that each let one person join the team of an account. */
export interface TeamInvitationsTable {
  /** Public, for lists. */
  id: string;
  /** SHA-256 of the token in the link, hex. */
  token_hash: string;
  account_id: string;
  role: TeamRole;
  /** Lower case; only the person with this address may take it. Null: anyone with the link. */
  email: string | null;
  /** The account of the person who made it, or `cli`. */
  created_by: string;
  created_at: number;
  expires_at: number;
  /** The user who took it; null: nobody has. */
  used_by: string | null;
}

/** Links for setting an account's password once. */
export interface InvitationsTable {
  /** SHA-256 of the token in the link, hex. */
  token_hash: string;
  account_id: string;
  /** The account of the administrator who made it, or `cli`; the invitation is valid while they may invite. */
  created_by: string | null;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}

/** Links that prove that a user receives the mail of the address given at sign-up; one for each user. */
export interface EmailVerificationsTable {
  user_id: string;
  /** SHA-256 of the token in the link, hex. */
  token_hash: string;
  /** The address that the link was sent to; it verifies no other address. */
  email: string;
  expires_at: number;
}

/** Programs that ask to be signed in. The row is deleted when its code is exchanged. */
export interface OauthRequestsTable {
  /** SHA-256 of the code that the program exchanges for tokens, hex. */
  code_hash: string;
  /** SHA-256 of the code that a person types, hex; null: the program's browser brings the person to the page. */
  user_code_hash: string | null;
  /** The name that the program gives itself. */
  program: string;
  /** The address that it asked from. */
  address: string;
  /** The two are null unless the program's browser brings the person. */
  redirect_uri: string | null;
  code_challenge: string | null;
  created_at: number;
  expires_at: number;
  polled_at: number | null;
  denied_at: number | null;
  /** The person who approved it, and the key that stands for its tokens; null: nobody has. */
  user_id: string | null;
  key_id: string | null;
}

/** Programs that are signed in. The row is deleted when the sign-in ends. */
export interface OauthGrantsTable {
  /** The public part of its tokens. */
  id: string;
  key_id: string;
  user_id: string;
  /** SHA-256 of the part that all its refresh tokens share, hex. */
  family_hash: string;
  /** SHA-256 of the part that changes with each refresh, hex: of the current token and of the one before. */
  refresh_hash: string;
  previous_refresh_hash: string | null;
  refreshed_at: number;
  /** SHA-256 of the secrets of the current access token and of the one before, hex. */
  access_hash: string;
  access_expires_at: number;
  previous_access_hash: string | null;
  previous_access_expires_at: number | null;
  created_at: number;
  /** The end of the refresh token, which each refresh moves. */
  expires_at: number;
}

/** Settings of a provider by administrators; without a row it is enabled and has the order of its models. */
export interface ProvidersTable {
  name: string;
  enabled: number;
  /** Replaces the priority of all its models. */
  priority: number | null;
  weight: number | null;
  /** 1: stored keys are used instead of those of the environment. */
  uses_stored_keys: number | null;
  /** The JSON of a provider that was added here; every gateway writes it as a file into its plugins folder. */
  manifest: string | null;
  /** JSON list of the SHA-256 of its manifests before, in hexadecimal: a file that is one of them was changed by nobody. */
  earlier_manifests: string | null;
  /** When it was removed: a gateway that was not running then deletes its file later. */
  removed_at: number | null;
}

/** Operator's orders that another model answers. */
export interface ReroutesTable {
  id: string;
  subject: "model" | "provider";
  /** The id of a model, or the name of a provider. */
  name: string;
  /** The id of the model that answers; null: other routes of the same model alone. */
  to_model: string | null;
  /** Null: until it is removed. */
  ends_at: number | null;
  created_at: number;
}

/** Attempts at a provider in five minutes, of all gateways. */
export interface ProviderAttemptsTable {
  provider: string;
  /** Five minutes, counted from 1970. */
  slot: number;
  attempts: number;
  errors: number;
  /** The first failure of the slot, milliseconds since 1970; `null`: none failed. */
  first_error_at: number | null;
}

/** Orders to take paused routes back into use, which every gateway carries out once. Rows of a day ago are deleted. */
export interface RouteResumesTable {
  provider: string;
  /** The id of a model; empty: all routes of the provider. */
  model: string;
  /** The id of the key that was accepted; empty: all keys. */
  key_id: string;
  /** Increases with each order. */
  at: number;
}

/** The last outcomes of a provider or one of its keys. */
export interface ProviderOutcomesTable {
  provider: string;
  /** The id of a stored key, or `environment:` and its place; empty: of the provider as a whole. */
  key_id: string;
  outcome: "success" | "error" | "test";
  at: number;
  /** JSON of the details. */
  detail: string;
}

/** API keys of providers. */
export interface ProviderKeysTable {
  id: string;
  provider: string;
  /** Encrypted, and bound to provider and id. */
  secret: Uint8Array;
  /** The id of the secrets key that encrypted it. */
  secrets_id: string;
  /** The last four characters, empty for a short key. */
  last4: string;
  /** The administrator's account, or `cli`. */
  set_by: string;
  set_at: number;
}

/** Requests with a known API key that did not become calls. */
export interface RefusalsTable {
  /** The response's `x-request-id`. */
  id: string;
  account_id: string;
  key_id: string;
  opened_at: number;
  /** Method and path. */
  endpoint: string;
  capability: Capability | null;
  /** The requested model, which may not exist. */
  model: string | null;
  protocol: string | null;
  status: number;
  error_code: string;
  /** The message that the caller was given. */
  message: string;
  session: string | null;
  client_request_id: string | null;
  duration_ms: number;
  /** How many requests the row stands for: more than 1 when too many came at once to have a row each. */
  requests: number;
  /** The client's own name of requests of this kind; null: it sent none. */
  tag: string | null;
}

/** Answers of POST /responses and the items of their output, one row each. */
export interface StoredResponsesTable {
  account_id: string;
  /** Id of the response or the item. */
  id: string;
  /** The response that it belongs to; its own id for a response. */
  response_id: string;
  /** Encrypted. */
  body: Uint8Array;
  /** Its share of the bytes that an account may store. */
  bytes: number;
  expires_at: number;
}

/** One row per call with an Idempotency-Key, for a day. */
export interface IdempotencyKeysTable {
  /** HMAC of API key, endpoint and Idempotency-Key, hex; `body_hash` is one of the request. */
  id: string;
  account_id: string;
  /** The call that the request runs or ran as. */
  call_id: string;
  body_hash: string;
  /** The process that runs the call. */
  node_id: string;
  state: "running" | "done";
  /** Compressed and encrypted; null: it is not there yet, or was not stored. */
  answer: Uint8Array | null;
  /** Bytes that the account had stored up to the end of this answer; null without an answer. */
  position: number | null;
  expires_at: number;
}

/** Prompts and answers, one row per call. */
interface ContentsTable {
  /** The response's `x-request-id`. */
  id: string;
  account_id: string;
  /** When the call began. */
  at: number;
  /** Redacted, compressed and encrypted. */
  body: Uint8Array;
  /** The id of the secrets key that encrypted it. */
  secrets_id: string;
  /** Its share of the bytes that an account may have. */
  bytes: number;
  /** Bytes that the account had before this row. */
  position: number;
}

/** Accounts and API keys whose prompts and answers are kept. */
interface ContentSwitchesTable {
  /** The id of the account or the key. */
  subject: string;
  account_id: string;
  /** The administrator's account. */
  set_by: string;
  set_at: number;
}

type LatencyColumns = Record<`f${number}` | `d${number}`, number>;

/**
 * The kinds of sums in `usage`: `call` of requests by account, API key, model, plugin and status, and once more of all
 * accounts together, with the account and the key empty; `key` of requests by account and key alone, by the day only;
 * `session`, `tag` and `end_user` of calls by account and `name`, tags once more of all accounts together; `miss` as `call`, of
 * calls that missed a cache alone, by the kind of the miss, which is their `name`.
 */
export type UsageKind = "call" | "key" | "session" | "tag" | "end_user" | "miss";

/** Sums over ended calls. */
export interface UsageColumns extends Record<MeterColumn, number> {
  /** Settled calls. */
  requests: number;
  /** Released calls. */
  failures: number;
  /** Cost of the calls whose price is known, at the prices of their accounts. */
  cost_nanodollars: number;
  /** Cost of these calls without markups. */
  provider_cost_nanodollars: number;
  charged_nanodollars: number;
  quota_tokens: number;
  /** Misses of prompt caches and their cost, and the amount that caches saved. */
  cache_missed_tokens: number;
  cache_lost_nanodollars: number;
  cache_saved_nanodollars: number;
}

/** Sums of requests. Names that do not apply are empty, and a status that does not is 0. */
interface UsageTable extends UsageKey, UsageColumns, LatencyColumns {
  /** Requests that were refused before they became calls. */
  refused: number;
  /** Calls with a status from 400 on, whatever was charged. */
  failed: number;
}

type UsageRows = {
  [Column in keyof UsageTable]: Column extends keyof UsageKey ? UsageTable[Column] : number | null;
};

export interface UsageKey {
  /** How long the bucket is: 1 or 24. */
  hours: number;
  kind: UsageKind;
  /** The first hour of the bucket, counted from 1970. */
  hour: number;
  account_id: string;
  key_id: string;
  model: string;
  plugin: string;
  status: number;
  /** Name of the session or the tag, or kind of the miss. */
  name: string;
}

/** The largest accounts and keys of a day that is over. */
interface UsageTopsTable {
  /** The first hour of the day, counted from 1970. */
  hour: number;
  group_by: "account" | "key";
  ranked_by: string;
  /** JSON of the groups with their ranks, the largest first. */
  list: string;
}

/**
 * Progress of the sums. All calls up to `seq` are counted. Calls after it are not counted yet, with one exception:
 * while a large step is written in parts, calls up to `until_seq` are counted for the accounts up to `upto`.
 */
interface UsageProgressTable {
  id: 1;
  seq: number;
  /** Null: no step is written in part. */
  until_seq: number | null;
  upto: string | null;
}

type AlertSeverity = "info" | "warning" | "critical";

/** The subject of an alert. */
interface AlertSubjectColumns {
  subject_type: "gateway" | "node" | "account" | "key" | "provider" | "model" | "session" | "tag" | "end_user";
  subject_id: string;
  subject_name: string;
  /** Path of the dashboard's page about it. */
  page: string;
}

/** Where alerts are sent. In these tables `owner` is an account, or `gateway` for the operator. */
interface AlertChannelsTable {
  id: string;
  owner: string;
  kind: "webhook" | "email" | "slack" | "pagerduty" | "teams" | "discord";
  name: string;
  /** Where it leads, without secrets. */
  label: string;
  /** Encrypted JSON: address and secret. */
  target: Uint8Array;
  /** The id of the secrets key that encrypted it. */
  secrets_id: string;
  /** JSON: the rules whose alerts are sent, and ids of custom rules; null: all. */
  rules: string | null;
  /** Alerts that are less severe are not sent. */
  severity: AlertSeverity;
  digest: "off" | "daily" | "weekly";
  /** Hour of the day, UTC. */
  digest_hour: number;
  /** When the next digest is due; null: none is sent. */
  digest_at: number | null;
  created_at: number;
  /** When a message was last accepted; null: never. */
  sent_at: number | null;
  /** Error of the last attempt; null when it succeeded. */
  error: string | null;
  error_at: number | null;
}

/** Rules that differ from their defaults. */
interface AlertRulesTable {
  owner: string;
  rule: string;
  /** Flag. */
  enabled: number;
  /** In the unit of the rule; null: the default. */
  threshold: number | null;
}

/** Alerts that last, one row per subject. */
interface AlertsTable extends AlertSubjectColumns {
  /** Owner, rule and subject. */
  id: string;
  owner: string;
  rule: string;
  /** Identifies the problem among those of its rule; the id of a custom rule. */
  subject_key: string;
  text: string;
  /** Rises when it gets worse. */
  level: number;
  /** 0 is `info`, 1 `warning`, 2 `critical`. */
  severity: number;
  since_at: number;
  /** When a node last found it. */
  seen_at: number;
  /** When the last message about it was queued; null: none was. */
  notified_at: number | null;
  notified_level: number | null;
  /** The highest severity of these messages: whoever got one hears of the end. */
  notified_severity: number | null;
}

/** Alerts that are over. */
interface AlertHistoryTable extends AlertSubjectColumns {
  /** The id of the episode, which messages have. */
  id: string;
  owner: string;
  rule: string;
  text: string;
  severity: number;
  since_at: number;
  ended_at: number;
}

/** Alerts that send no messages. */
interface AlertMutesTable {
  /** The `id` of the alert, which may be over and come again. */
  alert_id: string;
  owner: string;
  /** Null: until somebody ends it. */
  until_at: number | null;
  muted_by: string;
}

/** Rules of the operator's own: a metric of some calls, over a while, beyond a threshold. */
interface MetricRulesTable {
  id: string;
  name: string;
  metric: "error_rate" | "duration_p95" | "first_byte_p95" | "spend" | "calls";
  scope: "gateway" | "account" | "key" | "model" | "provider";
  /** The id of its account, key, model or provider; empty for the gateway. */
  subject: string;
  comparison: "above" | "below";
  /** In percent, milliseconds, nanodollars or calls; with a baseline, in hundredths of it. */
  threshold: number;
  /** The days before whose same hours are compared with; 0: none, the threshold is fixed. */
  baseline_days: number;
  /** With a baseline: smaller values raise no alert; in the unit of the metric. */
  minimum: number;
  minutes: number;
  /** With fewer calls nothing is said; not of spend and calls. */
  calls_min: number;
  severity: AlertSeverity;
  /** Flag. */
  enabled: number;
  created_at: number;
}

/** Messages that no channel has accepted yet. */
interface AlertMessagesTable {
  id: string;
  channel_id: string;
  /** JSON of the message. */
  body: string;
  attempts: number;
  next_at: number;
}

/** Work that one node at a time does: when it is next to be done. */
interface AlertTurnsTable {
  name: string;
  next_at: number;
}
