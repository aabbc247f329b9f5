/** The migrations that have run. */
export interface SchemaVersionsTable {
  version: number;
  applied_at: number;
}
