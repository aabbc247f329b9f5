import { initial } from "./0001-initial.ts";
import type { Migration } from "./migration.ts";

/** Every step of the schema, by rising version. */
export const migrations: readonly Migration[] = [initial];
