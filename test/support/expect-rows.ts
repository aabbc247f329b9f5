const reasonCharactersMax = 400;

/**
 * Checks every row of a table in one test; a row begins with its name.
 *
 * @throws One error that names every row whose check fails, each with the reason; also where there is no row at all.
 */
export async function expectRows<Row extends readonly [name: string, ...values: unknown[]]>(
  rows: readonly Row[],
  check: (...row: Row) => unknown,
): Promise<void> {
  if (rows.length === 0) throw new Error("There is no row to check");
  const bad: string[] = [];
  for (const row of rows) {
    try {
      await check(...row);
    } catch (error) {
      bad.push(`${row[0]}: ${reasonOf(error)}`);
    }
  }
  if (bad.length > 0) throw new Error(`${bad.length} of ${rows.length} rows are not as expected:\n${bad.join("\n")}`);
}

/** The message of an error in one line, without colors. */
function reasonOf(error: unknown): string {
  const text = Bun.stripANSI(error instanceof Error ? error.message : String(error));
  const lines = text.split("\n").map((line) => line.trim());
  return lines
    .filter((line) => line !== "")
    .join(" ")
    .slice(0, reasonCharactersMax);
}
