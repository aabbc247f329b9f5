import { type AuditFilter, readAudit } from "../../audit/index.ts";
import { labelsOf } from "../../tenants/index.ts";
import { defineCommand } from "../command.ts";
import { columns } from "../lib/format.ts";
import { parseWithin } from "../lib/parse.ts";
import { withStore } from "../lib/with-store.ts";

const [listedDefault, entriesMax] = [20, 1000];
const detailCharactersMax = 80;

export const auditList = defineCommand({
  name: "audit list",
  description: "List who changed what, newest first",
  flags: {
    actor: { value: "A", description: "Only changes by this account, by id, e-mail or name of a team, or by cli" },
    action: { value: "ACTION", description: "Only this action, such as key.create, or key for all actions on keys" },
    subject: { value: "ID", description: "Only changes of the account, key or other thing with this id" },
    limit: { value: "N", description: `Maximum number of entries (default ${listedDefault}, up to ${entriesMax})` },
  },
  args: [],
  example: "audit list --action key --limit 50",
  async run(_context, { flags, config, now }) {
    const limit = parseWithin("--limit", flags.limit ?? String(listedDefault), entriesMax);
    const json = await withStore(
      config,
      async ({ store, accounts }) => {
        const { actor } = flags;
        const filter: AuditFilter = {
          actor: actor === undefined ? undefined : ((await accounts.find(actor))?.id ?? actor),
          action: flags.action,
          subject: flags.subject,
        };
        const { entries } = await readAudit(store, filter, { limit });
        const labels = await labelsOf(
          store,
          entries.flatMap(({ accountId, subject }) => [accountId, subject]),
        );
        return entries.map(({ id, at, accountId, osUser, action, subject, detail }) => ({
          id,
          at: new Date(at).toISOString(),
          actor: accountId,
          actor_name: labels.get(accountId) ?? null,
          os_user: osUser ?? null,
          action,
          subject,
          subject_name: labels.get(subject) ?? null,
          detail,
        }));
      },
      now,
    );
    const rows = json.map(({ at, actor, actor_name, action, subject, subject_name, detail }) => [
      at.slice(0, 19).replace("T", " "),
      actor_name ?? actor,
      action,
      subject_name ?? subject,
      JSON.stringify(detail).slice(0, detailCharactersMax),
    ]);
    const head = ["at (UTC)", "by", "action", "of", "detail"];
    return { json, text: rows.length === 0 ? "No entry fits" : columns([head, ...rows]) };
  },
});
