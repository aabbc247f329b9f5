import { expect, test } from "bun:test";
import { openStore } from "../../../src/db/index.ts";
import { temporaryFile } from "./temporary-store.ts";

/** A process that has the write lock of a database for a while. */
async function lockedFor(file: string, ms: number): Promise<void> {
  const script = `
    const { DatabaseSync } = await import("node:sqlite");
    const database = new DatabaseSync(${JSON.stringify(file)});
    database.exec("pragma busy_timeout = 5000; begin immediate");
    console.log("locked");
    setTimeout(() => database.exec("commit"), ${ms});`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  await child.stdout.getReader().read();
}

test.each([
  ["a gateway, for whose calls that would be too long, refuses", undefined, "database is locked"],
  ["a command waits", 10_000, undefined],
])("where another process has the database for two seconds, %s", async (_, lockWaitMs, says) => {
  const file = temporaryFile();
  const store = await openStore({ file, ...(lockWaitMs !== undefined && { lockWaitMs }) });
  await lockedFor(file, 2000);
  const written = await store.setting("a", () => "b").catch((error: Error) => error.message);
  expect(written).toBe(says ?? "b");
  await store.close();
});
