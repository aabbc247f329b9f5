import { openStore } from "../../src/db/index.ts";
import { makeDatabase, newDatabase, newUrl, sharedPostgres } from "./postgres.ts";

let template: Promise<string> | undefined;

/** The URL of a new database that has its schema and nothing in it. */
export async function migratedPostgres(): Promise<string> {
  // To copy one takes a tenth of what its migration takes.
  template ??= makeTemplate();
  const url = newUrl(await sharedPostgres());
  await makeDatabase(url, await template);
  return url;
}

async function makeTemplate(): Promise<string> {
  const url = await newDatabase();
  await (await openStore({ url, timeoutMs: 10_000 })).close();
  return new URL(url).pathname.slice(1);
}
