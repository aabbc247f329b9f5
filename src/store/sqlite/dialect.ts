import { SqliteDialect, SqliteQueryCompiler } from "kysely";

/**
 * Kysely's dialect with `+?` for a parameter: a value, but none that a plan depends on. Of a bare one SQLite may plan a
 * statement anew at each run (in a join, with a limit beside an order), which takes four times as long as to run it.
 */
export class PlannedOnceDialect extends SqliteDialect {
  override createQueryCompiler(): SqliteQueryCompiler {
    return new PlannedOnceCompiler();
  }
}

class PlannedOnceCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return "+?";
  }
}
