import type { Kysely } from "kysely";

/** The two SQL engines. */
export type Engine = "sqlite" | "postgres";

/** One step of the schema. A step that was released never changes; a mistake is fixed by the next one. */
export interface Migration {
  version: number;
  /** Runs inside the transaction that also records the version. The types of its time are not those of today. */
  up(db: Kysely<unknown>, engine: Engine): Promise<void>;
}
