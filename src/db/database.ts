import type { AccountsTable } from "./tables/accounts.ts";
import type { AuditTable } from "./tables/audit.ts";
import type { BlobsTable } from "./tables/blobs.ts";
import type { CallsTable } from "./tables/calls.ts";
import type { EntriesTable } from "./tables/entries.ts";
import type { KeyBudgetUsageTable } from "./tables/key-months.ts";
import type { KeysTable } from "./tables/keys.ts";
import type { NodesTable } from "./tables/nodes.ts";
import type { OpeningBalancesTable } from "./tables/openings.ts";
import type { DailyQuotaUsageTable } from "./tables/quota-days.ts";
import type { RevisionsTable } from "./tables/revisions.ts";
import type { SchemaVersionsTable } from "./tables/schema-versions.ts";
import type { InvitationsTable, SessionsTable, VerificationsTable } from "./tables/sessions.ts";
import type { SettingsTable } from "./tables/settings.ts";
import type { TwoFactorsTable } from "./tables/two-factors.ts";
import type { UsageDaysTable } from "./tables/usage-days.ts";
import type { UsageHoursTable } from "./tables/usage-hours.ts";
import type { CredentialsTable, UsersTable } from "./tables/users.ts";
import type { VouchersTable } from "./tables/vouchers.ts";
import type { WalletsTable } from "./tables/wallets.ts";

/** Every table, for Kysely. */
export interface Database {
  accounts: AccountsTable;
  keys: KeysTable;
  calls: CallsTable;
  entries: EntriesTable;
  wallets: WalletsTable;
  quota_days: DailyQuotaUsageTable;
  key_months: KeyBudgetUsageTable;
  usage_hours: UsageHoursTable;
  usage_days: UsageDaysTable;
  openings: OpeningBalancesTable;
  nodes: NodesTable;
  revisions: RevisionsTable;
  users: UsersTable;
  credentials: CredentialsTable;
  two_factors: TwoFactorsTable;
  sessions: SessionsTable;
  verifications: VerificationsTable;
  invitations: InvitationsTable;
  vouchers: VouchersTable;
  audit: AuditTable;
  blobs: BlobsTable;
  settings: SettingsTable;
  schema_versions: SchemaVersionsTable;
}
