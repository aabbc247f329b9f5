/** Processes that write calls to a shared database, while they live. */
export interface NodesTable {
  id: string;
  /** The database's own clock, milliseconds since 1970. */
  seen_at: number;
}
