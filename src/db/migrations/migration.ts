import { createHash } from "node:crypto";

/** The two SQL engines. */
export type Engine = "sqlite" | "postgres";

/** One step of the schema. One that was released never changes; a mistake is fixed by the next one. */
export interface Migration {
  readonly version: number;
  /** SQL text for each engine. An empty line ends a statement. */
  readonly sql: Readonly<Record<Engine, string>>;
}

export function statementsOf(migration: Migration, engine: Engine): string[] {
  return migration.sql[engine].split(/\n\s*\n/).filter((text) => /^(?!--|\s*$)/m.test(text));
}

/** Hash stored with the version of a database: detects a different migration that has the same version. */
export function migrationHash(migration: Migration, engine: Engine): string {
  return createHash("sha256").update(migration.sql[engine]).digest("hex");
}
