/** Low byte of SQLite's result codes for a violated constraint (https://www.sqlite.org/rescode.html#constraint). */
const sqliteConstraint = 19;

/** Whether a failed write was refused for what it said, and not for the state of the disk or a lock. */
export function isConstraintError(error: unknown): boolean {
  if (!(error instanceof Error) || !("errcode" in error)) return false;
  return typeof error.errcode === "number" && (error.errcode & 0xff) === sqliteConstraint;
}
