import { type Generated, type SqlBool, sql } from "kysely";
import type { BudgetPeriod, Capability, MeterColumn, UsageSource } from "../contract/index.ts";
import type { AdminKeysTable, ServiceAccountsTable } from "./admin-key-tables.ts";
import type { AlertTables } from "./alert-tables.ts";
import type {
  ProviderAttemptsTable,
  ProviderKeysTable,
  ProviderOutcomesTable,
  ProvidersTable,
} from "./provider-tables.ts";
import type { RefusalsTable } from "./refusals-table.ts";
import type { ContentTables, IdempotencyKeysTable, StoredResponsesTable } from "./stored-tables.ts";
import type {
  EmailVerificationsTable,
  InvitationsTable,
  MembershipsTable,
  TeamInvitationsTable,
} from "./team-tables.ts";
import type { UsageColumns, UsageTables } from "./usage-tables.ts";

/**
 * Every table. In column names `_at` is milliseconds since 1970, `day` a UTC day and `hour` a UTC hour counted from 1970,
 * `month` the first UTC day of a period of a budget, `_nanodollars` a billionth of a dollar. Flags are 0 or 1.
 */
export interface Database extends AlertTables, ContentTables, UsageTables {
  accounts: AccountsTable;
  keys: KeysTable;
  service_accounts: ServiceAccountsTable;
  admin_keys: AdminKeysTable;
  /** Accounts, keys, models and other names that calls repeat, by number. */
  names: { id: Generated<number>; name: string };
  /** As they are written: names are numbers. `open_calls` and `calls` are views of them. */
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
  daily_charge_rows: { account_id: number; day: number; charged_nanodollars: number };
  /** What calls cost that began on a day, one row per account and day: what budgets of accounts count. */
  daily_charges: { account_id: string; day: number; charged_nanodollars: number };
  /** Free quota used, one row per account and day. */
  daily_quota_usage: { account_id: string; day: number; used_tokens: number };
  /** Spent from the budgets of keys, one row per key and period; `month` is the first day of the period. */
  key_budget_usage: { account_id: string; key_id: string; month: number; spent_nanodollars: number };
  opening_balances: OpeningBalancesTable;
  /** Live processes that share the database; `seen_at` is by the clock of the database. */
  nodes: { id: string; seen_at: number };
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
  team_invitations: TeamInvitationsTable;
  /** Attempts of sign-ins in a time window, by what is limited; `key` has no e-mail address in clear text. */
  sign_in_attempts: { key: string; attempts: number; ends_at: number };
  vouchers: VouchersTable;
  audit: AuditTable;
  /** Generated files that are served until they expire. */
  blobs: { id: string; media_type: string; bytes: Uint8Array; expires_at: number };
  stored_responses: StoredResponsesTable;
  idempotency_keys: IdempotencyKeysTable;
  /** Values that the gateway generates once, such as the secret that signs image URLs. */
  settings: { name: string; value: string };
  providers: ProvidersTable;
  provider_keys: ProviderKeysTable;
  provider_attempts: ProviderAttemptsTable;
  provider_outcomes: ProviderOutcomesTable;
  /** Migrations that have run; `hash` is that of their text. */
  schema_versions: { version: number; hash: string; applied_at: number };
}

/** Account holders. A limit that is null is the one of the configuration. */
interface AccountsTable {
  id: string;
  /** Lower case, unique. */
  email: string;
  name: string | null;
  free_tokens_per_day: number | null;
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  created_at: number;
  /** Its keys and users are refused; null: they are not. */
  disabled_at: number | null;
  /** The most that its premium calls may cost in a period; both are null without a budget. */
  budget_nanodollars: Generated<number | null>;
  budget_period: Generated<BudgetPeriod | null>;
  /** JSON array of ids; null: all models. */
  allowed_models: Generated<string | null>;
  /** The own account of the person who founded this team; null: an account that nobody founded as one. */
  founded_by: Generated<string | null>;
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
  /** The most that premium calls of the key may cost in a period. */
  budget_nanodollars: number | null;
  /** Null: `month`. */
  budget_period: Generated<BudgetPeriod | null>;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  /** Accurate to a few seconds; null: never. */
  last_used_at: number | null;
  /** The account of the person who made it, or `cli`; null: unknown. */
  created_by: Generated<string | null>;
  /** JSON array of addresses and CIDR ranges; null: any. */
  allowed_networks: Generated<string | null>;
  /** The hash of the secret before the last rotation, which is good until `previous_until`; both are null without one. */
  previous_secret_hash: Generated<string | null>;
  previous_until: Generated<number | null>;
  /** The service account whose key it is; null: it is of a person or a command. */
  service_account_id: Generated<string | null>;
  /** The subject whose tokens (JWT) this key stands for, and their issuer; null: it has a secret of its own. */
  token_issuer: Generated<string | null>;
  token_subject: Generated<string | null>;
  /** By which a key of another gateway is found, which has no id of ours: see `foreign-key.ts`; null: it is not one. */
  foreign_hash: Generated<string | null>;
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
  /** The same as it is stored; indexes find it by this. */
  id_bytes: Uint8Array;
  /** The numbers of names, by which indexes find calls. */
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
  /** The first day of the period whose key budget pays; null: the key has no budget. */
  budget_month: number | null;
  hold_nanodollars: number;
  hold_tokens: number;
  price_version: string | null;
  /** The client's own name of its session; null: it sent none. */
  session: string | null;
  /** The process that runs the call; null in the embedded store. */
  node_id: string | null;
}

/**
 * One row for each call that has ended, inserted when it ends. It is never updated, with one exception: a call that was
 * taken for abandoned is settled once if its process lives after all.
 */
interface CallsTable extends OpenCallsTable, Record<MeterColumn, number | null> {
  /** Counts the ends of calls, in the order in which they are written. */
  seq: Generated<number>;
  state: Exclude<CallState, "open">;
  settled_at: number;
  usage_source: UsageSource | null;
  /** List price of the usage; null: unknown. */
  cost_nanodollars: number | null;
  /** Paid by the wallet. */
  charged_nanodollars: number | null;
  /** Drawn from the free quota. */
  quota_tokens: number | null;
  route: string | null;
  status: number | null;
  error_code: string | null;
  error_no: number | null;
  first_byte_ms: number | null;
  duration_ms: number | null;
  /** What the client spoke; null for what is not chat. */
  protocol: string | null;
  client_request_id: string | null;
  /** JSON of a `CallDetail` of the kernel; null: nothing to tell. */
  detail: string | null;
  /** What the client calls requests of this kind; null: nothing. */
  tag: string | null;
}

/** A row as it is stored: bytes for its id, numbers for names. */
type CallRow<View> = {
  [Column in keyof View]: Column extends "id" ? Uint8Array : Column extends NamedColumn ? number : View[Column];
};

/** Columns that are numbers of `names`. */
type NamedColumn =
  | "account_id"
  | "key_id"
  | "model"
  | "capability"
  | "price_version"
  | "node_id"
  | "state"
  | "usage_source"
  | "route"
  | "error_code"
  | "protocol";

/** What moves a wallet beside the charges of calls, append-only. */
interface TransactionsTable {
  /** `credit:<account>:<reference>`, or of a voucher: the primary key prevents repeats. */
  id: string;
  account_id: string;
  kind: "credit" | "debit";
  /** Negative for a debit. */
  amount_nanodollars: number;
  note: string | null;
  at: number;
}

/** Sums over the pruned calls of an account, so that the ledger can still be verified. */
interface OpeningBalancesTable extends UsageColumns {
  account_id: string;
  /** Every pruned call began, ended and drew its quota before this day. */
  before_day: number;
  calls: number;
  /** The part of `charged_nanodollars` that counted against budgets of keys. */
  budget_nanodollars: number;
}

/** Whether a node was seen in the last 10 seconds by the database's clock, for display. Nodes poll twice a second. */
export const isSeen = sql<SqlBool>`seen_at >= floor(extract(epoch from clock_timestamp()) * 1000) - 10000`;

/**
 * `owner` may do everything, `admin` too, except to owners; `viewer` sees everything and changes nothing; `member` sees and
 * changes only what concerns the own account.
 */
export type Role = "owner" | "admin" | "viewer" | "member";

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
  /** The team in which the next session begins; null: the own account. */
  current_account_id: Generated<string | null>;
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
  /** The account in which it acts; null: the own one. */
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

/** What administrators did, append-only; `account_id` is theirs. */
interface AuditTable {
  id: string;
  at: number;
  account_id: string;
  /** `account.credit`, for example. */
  action: string;
  /** Id of what it was done to. */
  subject: string;
  /** JSON of the parameters. */
  detail: string;
}
