-- The tables of both engines. "without rowid", "blob" and "integer primary key" are SQLite's words, which PostgreSQL gets in
-- its own; {{names}} stand for columns that 0001-initial.ts makes from tables of the code. An empty line ends a statement. What the columns mean is in src/db/schema.ts.

create table accounts (
  id text not null primary key,
  email text not null unique,
  name text,
  free_tokens_per_day bigint,
  requests_per_minute bigint,
  tokens_per_minute bigint,
  concurrent_calls bigint,
  allowed_models text,
  created_at bigint not null,
  disabled_at bigint,
  founded_by text,
  billed_afterwards bigint not null default 0
) without rowid;

create index accounts_by_creation on accounts (created_at, id);

create index accounts_billed_afterwards on accounts (id) where billed_afterwards = 1;

create index accounts_of_founder on accounts (founded_by) where founded_by is not null;

create table keys (
  id text not null primary key,
  account_id text not null references accounts (id),
  name text not null,
  secret_hash text not null,
  allowed_models text,
  requests_per_minute bigint,
  tokens_per_minute bigint,
  concurrent_calls bigint,
  created_at bigint not null,
  created_by text,
  rotated_by text,
  rotated_at bigint,
  expires_at bigint,
  revoked_at bigint,
  last_used_at bigint,
  allowed_networks text,
  cache_marks text,
  previous_secret_hash text,
  previous_until bigint,
  service_account_id text,
  token_issuer text,
  token_subject text,
  foreign_hash text,
  may_return bigint not null default 0,
  held_for text
) without rowid;

create unique index keys_by_foreign_hash on keys (foreign_hash) where foreign_hash is not null;

create index keys_by_creation on keys (created_at, id);

create index keys_expiring on keys (expires_at) where expires_at is not null;

create index keys_of_account on keys (account_id);

create index keys_of_maker on keys (created_by) where created_by is not null;

create index keys_of_rotator on keys (rotated_by) where rotated_by is not null;

create index keys_revoked on keys (revoked_at) where revoked_at is not null;

create index keys_of_service_account on keys (service_account_id) where service_account_id is not null;

create table imported (
  source text not null,
  kind text not null,
  ref text not null,
  target text not null,
  imported_at bigint not null,
  primary key (source, kind, ref)
) without rowid;

create table service_accounts (
  id text not null primary key,
  account_id text not null references accounts (id),
  name text not null,
  created_at bigint not null,
  created_by text not null
) without rowid;

create index service_accounts_of_account on service_accounts (account_id);

create table admin_keys (
  id text not null primary key,
  name text not null,
  secret_hash text not null,
  scopes text not null,
  allowed_networks text,
  created_by text not null,
  vouched_by text not null,
  created_at bigint not null,
  expires_at bigint,
  revoked_at bigint,
  last_used_at bigint
) without rowid;

-- Accounts and keys by the numbers that stand for them in the rows of calls and wallets. A number is computed from the id, so that no
-- database gives it to another. The account of a key, and of itself; null where it is no account or key of this database.
create table payers (
  no bigint not null primary key,
  id text not null unique,
  account_no bigint
) without rowid;

-- Models and other names that calls repeat: the columns of those are the numbers of their rows.
create table names (
  id integer primary key,
  name text not null unique
);

insert into names (id, name) values (1, 'settled'), (2, 'released'), (3, 'abandoned');

create table open_call_rows (
  id blob not null primary key,
  node_id integer,
  {{open columns}}
) without rowid;

create table call_rows (
  seq integer primary key,
  id blob not null unique,
  node_id integer,
  {{call columns}}
);

-- Of indexes that serve a query equally well, SQLite takes the one that was made last. Each has its query in
-- docs/decisions/0012-open-calls.md.
create index calls_of_account on call_rows (account_id, opened_at);

create index calls_failed on call_rows (opened_at) where error_code is not null;

create index calls_failed_of_account on call_rows (account_id, opened_at) where error_code is not null;

create index calls_by_client_id on call_rows (client_request_id, opened_at) where client_request_id is not null;

create index calls_of_session on call_rows (session, opened_at) where session is not null;

create index calls_of_tag on call_rows (tag, opened_at) where tag is not null;

create index calls_of_tag_of_account on call_rows (account_id, tag, opened_at) where tag is not null;

-- The rows with their names, for readers. Who looks for an account, a key or an error asks for its number, which an index
-- leads to in the order of time.
create view open_calls as select {{open view}}
from open_call_rows as open_calls
left join payers as account on account.no = open_calls.account_id left join payers as key on key.no = open_calls.key_id;

create view calls as select calls.seq, {{call view}}
from call_rows as calls
left join payers as account on account.no = calls.account_id left join payers as key on key.no = calls.key_id;

create table refusals (
  id text not null primary key,
  account_id text not null,
  key_id text not null,
  opened_at bigint not null,
  endpoint text not null,
  capability text,
  model text,
  protocol text,
  status bigint not null,
  error_code text not null,
  message text not null,
  session text,
  client_request_id text,
  duration_ms bigint not null,
  requests bigint not null,
  tag text
) without rowid;

create index refusals_by_time on refusals (opened_at);

create index refusals_of_account on refusals (account_id, opened_at);

create table transactions (
  id text not null primary key,
  account_id text not null,
  kind text not null,
  amount_nanodollars bigint not null,
  note text,
  at bigint not null
) without rowid;

create index transactions_of_account on transactions (account_id, at);

-- Wallets and what was spent are written with each call: by the number of the account, and shown with its name.
create table wallet_rows (
  account_id bigint not null primary key,
  balance_nanodollars bigint not null
) without rowid;

create view wallets as select payers.id as account_id, wallet_rows.balance_nanodollars
from wallet_rows join payers on payers.no = wallet_rows.account_id;

-- What calls cost that began on a day: of an account, of a key, and of the names that a budget counts. The subject is the number of the
-- account, the key or the budget; the name is empty of the first two, and of calls that name nobody.
create table spending (
  account_id bigint not null,
  subject_id bigint not null,
  name text not null,
  day bigint not null,
  spent_nanodollars bigint not null,
  first_at bigint,
  last_at bigint,
  counted_day bigint,
  primary key (account_id, subject_id, name, day)
) without rowid;

-- What sessions spent, with the day on which each began to run: it was silent for a day before, or is new. Two runs of a session never
-- share a day.
create view session_spending as
select account_id, subject_id, name, day, spent_nanodollars, last_at,
  max(case when last_before is null or first_at - last_before > 86400000 then day end)
    over (partition by account_id, subject_id, name order by day) as run
from (select spending.*, max(last_at) over (partition by account_id, subject_id, name order by day
    rows between unbounded preceding and 1 preceding) as last_before
  from spending where last_at is not null) as days;

create view daily_charges as
select payers.id as account_id, spending.day, spending.spent_nanodollars as charged_nanodollars
from spending join payers on payers.no = spending.account_id
where spending.subject_id = spending.account_id and spending.name = '';

create view key_charges as
select account.id as account_id, key.id as key_id, spending.day, spending.spent_nanodollars as charged_nanodollars
from spending join payers as key on key.no = spending.subject_id join payers as account on account.no = spending.account_id
where spending.subject_id <> spending.account_id and spending.name = '';

create table daily_quota_usage (
  account_id text not null,
  day bigint not null,
  used_tokens bigint not null,
  counted_day bigint,
  primary key (account_id, day)
) without rowid;

create table budgets (
  id text not null primary key,
  no bigint not null unique,
  account_id text not null,
  key_id text,
  subject text not null,
  name text,
  budget_nanodollars bigint not null,
  budget_period text not null,
  raise_nanodollars bigint,
  raise_until bigint,
  created_at bigint not null,
  counted_from bigint not null,
  counted_to bigint
);

create index budgets_of_account on budgets (account_id, created_at);

create index budgets_by_creation on budgets (created_at, id);

create table model_limits (
  id text not null primary key,
  account_id text not null,
  key_id text not null,
  model text not null,
  requests_per_minute bigint,
  tokens_per_minute bigint,
  concurrent_calls bigint,
  created_at bigint not null
);

create unique index model_limits_of_account on model_limits (account_id, key_id, model);

create table markups (
  id text not null primary key,
  account_id text not null,
  provider text not null,
  basis_points bigint not null,
  created_at bigint not null
);

create unique index markups_of_account on markups (account_id, provider);

create table policies (
  id text not null primary key,
  account_id text not null,
  key_id text not null,
  model text not null,
  policy text not null,
  position bigint not null,
  on_failure text not null,
  created_at bigint not null
);

create unique index policies_of_place on policies (account_id, key_id, model, policy);

create table role_limits (
  role text not null primary key,
  requests_per_minute bigint,
  tokens_per_minute bigint,
  concurrent_calls bigint,
  free_tokens_per_day bigint
);

create table opening_balances (
  account_id text not null primary key,
  before_day bigint not null,
  calls bigint not null,
  requests bigint not null,
  failures bigint not null,
  charged_nanodollars bigint not null,
  quota_tokens bigint not null,
  {{meter sums}},
  cost_nanodollars bigint not null,
  provider_cost_nanodollars bigint not null,
  cache_missed_tokens bigint not null,
  cache_lost_nanodollars bigint not null,
  cache_saved_nanodollars bigint not null
) without rowid;

-- A figure that is 0, as most are, is stored as null, which takes no room in PostgreSQL; readers read the view.
create table usage_rows (
  hours bigint not null,
  kind text not null,
  hour bigint not null,
  account_id text not null,
  key_id text not null,
  model text not null,
  plugin text not null,
  status bigint not null,
  name text not null,
  {{usage figures}},
  primary key (hours, kind, hour, account_id, key_id, model, plugin, status, name)
) without rowid;

create view usage as select hours, kind, hour, account_id, key_id, model, plugin, status, name, {{usage view}}
from usage_rows as usage;

create table usage_tops (
  hour bigint not null,
  group_by text not null,
  ranked_by text not null,
  list text not null,
  primary key (hour, group_by, ranked_by)
) without rowid;

create table usage_progress (
  id bigint not null primary key,
  seq bigint not null,
  until_seq bigint,
  upto text
);

insert into usage_progress (id, seq) values (1, 0);

create table nodes (
  id text not null primary key,
  seen_at bigint not null,
  lease bigint not null,
  report text
);

create table revisions (
  name text not null primary key,
  revision bigint not null
);

create table users (
  id text not null primary key,
  account_id text not null unique references accounts (id),
  email text not null unique,
  name text not null,
  role text not null,
  password_is_temporary bigint not null,
  email_verified bigint not null,
  two_factor_enabled bigint not null default 0,
  image text,
  current_account_id text,
  external_id text,
  deprovisioned_at bigint,
  created_at text not null,
  updated_at text not null
) without rowid;

create index users_by_external_id on users (external_id);

create table credentials (
  id text not null primary key,
  user_id text not null references users (id),
  provider_id text not null,
  provider_account_id text not null,
  password_hash text,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at text,
  refresh_token_expires_at text,
  scope text,
  created_at text not null,
  updated_at text not null,
  unique (provider_id, provider_account_id)
) without rowid;

create index credentials_of_user on credentials (user_id);

create table two_factors (
  id text not null primary key,
  user_id text not null unique references users (id),
  secret text not null,
  backup_codes text not null,
  verified bigint not null
) without rowid;

create table sessions (
  id text not null primary key,
  token text not null unique,
  user_id text not null references users (id),
  expires_at text not null,
  ip_address text,
  user_agent text,
  created_at text not null,
  updated_at text not null,
  last_used_at bigint,
  account_id text
) without rowid;

create index sessions_by_expiry on sessions (expires_at);

create index sessions_of_user on sessions (user_id);

create table verifications (
  id text not null primary key,
  identifier text not null,
  value text not null,
  expires_at text not null,
  created_at text not null,
  updated_at text not null
) without rowid;

create index verifications_by_expiry on verifications (expires_at);

create index verifications_by_identifier on verifications (identifier);

create table email_verifications (
  user_id text not null primary key references users (id),
  token_hash text not null,
  email text not null,
  expires_at bigint not null
);

create table invitations (
  token_hash text not null primary key,
  account_id text not null references accounts (id),
  created_at bigint not null,
  expires_at bigint not null,
  used_at bigint,
  created_by text
) without rowid;

create index invitations_by_expiry on invitations (expires_at);

create table memberships (
  account_id text not null references accounts (id),
  user_id text not null references users (id),
  role text not null,
  joined_at bigint not null,
  primary key (account_id, user_id)
);

create index memberships_of_user on memberships (user_id);

create table directory_groups (
  id text not null primary key,
  name text not null,
  name_key text not null unique,
  external_id text,
  created_at bigint not null
);

create index directory_groups_by_external_id on directory_groups (external_id);

create table directory_members (
  group_id text not null references directory_groups (id),
  user_id text not null references users (id),
  primary key (group_id, user_id)
);

create index directory_members_of_user on directory_members (user_id);

create table group_roles (
  id text not null primary key,
  account_id text not null,
  group_name text not null,
  name_key text not null,
  role text not null,
  leavers_keys text,
  created_at bigint not null,
  unique (account_id, name_key)
);

create index group_roles_of_group on group_roles (name_key);

create table team_invitations (
  id text not null primary key,
  token_hash text not null unique,
  account_id text not null references accounts (id),
  role text not null,
  email text,
  created_by text not null,
  created_at bigint not null,
  expires_at bigint not null,
  used_by text
);

create index team_invitations_of_account on team_invitations (account_id);

create table sign_in_attempts (
  key text not null primary key,
  attempts bigint not null,
  ends_at bigint not null
) without rowid;

create index sign_in_attempts_by_expiry on sign_in_attempts (ends_at);

create table oauth_requests (
  code_hash text not null primary key,
  user_code_hash text unique,
  program text not null,
  address text not null,
  redirect_uri text,
  code_challenge text,
  created_at bigint not null,
  expires_at bigint not null,
  polled_at bigint,
  denied_at bigint,
  user_id text references users (id),
  key_id text
) without rowid;

create index oauth_requests_by_expiry on oauth_requests (expires_at);

create table oauth_grants (
  id text not null primary key,
  key_id text not null,
  user_id text not null references users (id),
  family_hash text not null,
  refresh_hash text not null,
  previous_refresh_hash text,
  refreshed_at bigint not null,
  access_hash text not null,
  access_expires_at bigint not null,
  previous_access_hash text,
  previous_access_expires_at bigint,
  created_at bigint not null,
  expires_at bigint not null
) without rowid;

create index oauth_grants_by_expiry on oauth_grants (expires_at);

create index oauth_grants_of_user on oauth_grants (user_id);

create table vouchers (
  id text not null primary key,
  code_hash text not null unique,
  amount_nanodollars bigint not null,
  created_at bigint not null,
  expires_at bigint,
  voided_at bigint,
  redeemed_at bigint,
  redeemed_by text references accounts (id)
) without rowid;

create index vouchers_of_account on vouchers (redeemed_by, redeemed_at);

create index vouchers_by_time on vouchers (created_at, id);

create table audit (
  id text not null primary key,
  at bigint not null,
  account_id text not null,
  os_user text,
  action text not null,
  subject text not null,
  detail text not null
) without rowid;

create index audit_by_time on audit (at);

create table blobs (
  id text not null primary key,
  media_type text not null,
  bytes blob not null,
  expires_at bigint not null
);

create index blobs_by_expiry on blobs (expires_at);

create table stored_responses (
  account_id text not null,
  id text not null,
  response_id text not null,
  body blob not null,
  bytes bigint not null,
  expires_at bigint not null,
  primary key (account_id, id)
);

create index stored_responses_by_expiry on stored_responses (expires_at);

create index stored_responses_by_response on stored_responses (account_id, response_id);

create index stored_responses_of_account on stored_responses (account_id, expires_at, id, bytes);

create table idempotency_keys (
  id text not null primary key,
  account_id text not null,
  call_id text not null,
  body_hash text not null,
  node_id text not null,
  state text not null,
  answer blob,
  position bigint,
  expires_at bigint not null
);

create index idempotency_keys_by_expiry on idempotency_keys (expires_at);

create table ended_branches (
  account_id text not null,
  session text not null,
  agent text not null,
  ended_at bigint not null,
  refused_until bigint not null,
  primary key (account_id, session, agent)
) without rowid;

create index ended_branches_by_end on ended_branches (refused_until);

create table key_callers (
  key_id text not null,
  day bigint not null,
  network text not null,
  program text not null,
  requests bigint not null,
  first_at bigint not null,
  last_at bigint not null,
  primary key (key_id, day, network, program)
) without rowid;

create index key_callers_by_day on key_callers (day);

create index idempotency_keys_by_position on idempotency_keys (account_id, position);

create table contents (
  id text not null primary key,
  account_id text not null,
  at bigint not null,
  body blob not null,
  secrets_id text not null,
  bytes bigint not null,
  position bigint not null
);

create index contents_by_time on contents (at);

create index contents_of_account on contents (account_id, position, bytes);

create table content_switches (
  subject text not null primary key,
  account_id text not null,
  set_by text not null,
  set_at bigint not null
);

create index content_switches_of_account on content_switches (account_id);

create table providers (
  name text not null primary key,
  enabled bigint not null,
  priority bigint,
  weight bigint,
  uses_stored_keys bigint,
  manifest text,
  earlier_manifests text,
  removed_at bigint
);

create table reroutes (
  id text not null primary key,
  subject text not null,
  name text not null,
  to_model text,
  ends_at bigint,
  created_at bigint not null
);

create unique index reroutes_of_subject on reroutes (subject, name);

create table provider_keys (
  id text not null primary key,
  provider text not null,
  secret blob not null,
  secrets_id text not null,
  last4 text not null,
  set_by text not null,
  set_at bigint not null
);

create table prices (
  version text not null primary key,
  rates text not null
) without rowid;

create table price_changes (
  model text not null,
  changed_at bigint not null,
  version text not null,
  primary key (model, changed_at)
) without rowid;

create table provider_attempts (
  provider text not null,
  slot bigint not null,
  attempts bigint not null,
  errors bigint not null,
  first_error_at bigint,
  primary key (provider, slot)
);

create table provider_outcomes (
  provider text not null,
  key_id text not null,
  outcome text not null,
  at bigint not null,
  detail text not null,
  primary key (provider, key_id, outcome)
);

create table route_resumes (
  provider text not null,
  model text not null,
  key_id text not null,
  at bigint not null,
  primary key (provider, model, key_id)
);

create table alert_rules (
  owner text not null,
  rule text not null,
  enabled bigint not null,
  threshold bigint,
  primary key (owner, rule)
);

create table alerts (
  id text not null primary key,
  owner text not null,
  rule text not null,
  subject_key text not null,
  text text not null,
  level bigint not null,
  severity bigint not null,
  subject_type text not null,
  subject_id text not null,
  subject_name text not null,
  page text not null,
  since_at bigint not null,
  seen_at bigint not null,
  notified_at bigint,
  notified_level bigint,
  notified_severity bigint
);

create table alert_history (
  id text not null primary key,
  owner text not null,
  rule text not null,
  text text not null,
  severity bigint not null,
  subject_type text not null,
  subject_id text not null,
  subject_name text not null,
  page text not null,
  since_at bigint not null,
  ended_at bigint not null
);

create index alert_history_of_owner on alert_history (owner, ended_at);

create table alert_mutes (
  alert_id text not null primary key,
  owner text not null,
  until_at bigint,
  muted_by text not null
);

create table metric_rules (
  id text not null primary key,
  name text not null,
  metric text not null,
  scope text not null,
  subject text not null,
  comparison text not null,
  threshold bigint not null,
  baseline_days bigint not null,
  minimum bigint not null,
  minutes bigint not null,
  calls_min bigint not null,
  severity text not null,
  enabled bigint not null,
  created_at bigint not null
);

create table alert_channels (
  id text not null primary key,
  owner text not null,
  kind text not null,
  name text not null,
  label text not null,
  target blob not null,
  rules text,
  severity text not null,
  digest text not null,
  digest_hour bigint not null,
  digest_at bigint,
  created_at bigint not null,
  sent_at bigint,
  error text,
  error_at bigint,
  secrets_id text not null
);

create index alert_channels_of_owner on alert_channels (owner);

create table alert_messages (
  id text not null primary key,
  channel_id text not null,
  body text not null,
  attempts bigint not null,
  next_at bigint not null
);

create index alert_messages_by_time on alert_messages (next_at);

create table alert_turns (
  name text not null primary key,
  next_at bigint not null
);

create table settings (
  name text not null primary key,
  value text not null
);

insert into revisions (name, revision) values ('copies', 0);
