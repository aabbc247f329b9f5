import { sql } from "kysely";

/** How a statement says that it is only shown. */
export const shownMark = "/* shown */";

/**
 * Ends a query whose answer is only shown to somebody who asks again soon: it may lack what was written to the books in
 * the last moment (50 ms), and in return applies nothing before. For all by which something is decided, counted or
 * proven it is wrong.
 */
export const shown = sql.raw(shownMark);
