import { openStore } from "../../src/db/index.ts";
import { newDatabase } from "./postgres.ts";

/** The URL of a new database that has its schema and nothing in it. */
export async function migratedPostgres(): Promise<string> {
  const url = await newDatabase();
  await (await openStore({ url, timeoutMs: 10_000 })).close();
  return url;
}
