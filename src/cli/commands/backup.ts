import { resolve } from "node:path";
import { getDatabaseFile } from "../../config/index.ts";
import { backupSqlite } from "../../db/index.ts";
import { defineCommand, UsageError } from "../command.ts";

export const backup = defineCommand({
  name: "backup",
  about: "Copy the embedded database into a new file, also while the gateway serves",
  flags: {},
  args: ["FILE"],
  example: "backup modelgate-backup.db",
  async run(_ground, { args, config }) {
    if (config.databaseUrl !== undefined) {
      throw new UsageError("Cannot back up PostgreSQL, which DATABASE_URL names: use pg_dump");
    }
    const file = resolve(args.FILE);
    const bytes = backupSqlite(getDatabaseFile(config), file);
    return { json: { file, bytes }, text: `Wrote ${file}, ${bytes} bytes` };
  },
});
