/** The exit codes of the command line by kind of outcome. A test compares them with the table in docs/command-line.md. */
export const exitCodes = { success: 0, failed: 1, invalid: 2, notFound: 3, conflict: 4, unavailable: 5 } as const;

const meanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  success: "success",
  failed: "failed or found a problem",
  invalid: "invalid command line or configuration",
  notFound: "not found",
  conflict: "conflict",
  unavailable: "database or another server unavailable",
};

/** Lists the exit codes in a line of the help. */
export function describeExitCodes(): string {
  const names = Object.keys(exitCodes) as (keyof typeof exitCodes)[];
  return `Exit codes: ${names.map((name) => `${exitCodes[name]} ${meanings[name]}`).join(", ")}.`;
}
