import { sql } from "kysely";

/**
 * A parameter that no plan depends on, for statements that run often. Where SQLite might choose another plan for another
 * value (in a join, in a limit) it prepares a statement anew at each run, which takes four times as long as to run it.
 */
export const textParam = (value: string) => sql<string>`cast(${value} as text)`;

/** As {@link textParam}, for whole numbers. */
export const wholeParam = (value: number) => sql<number>`cast(${value} as bigint)`;
