import { toFiguresJson, toMarginJson } from "../../http/dashboard-api/statistics-json.ts";
import {
  readFigures,
  readGroups,
  readTotals,
  type StatisticsFigures,
  type StatisticsGroup,
  sumFigures,
} from "../../reports/index.ts";
import { labelsOf } from "../../tenants/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { columns } from "../lib/format.ts";
import { parseWithin, readModelNames } from "../lib/parse.ts";
import { expectAccount, withStore } from "../lib/with-store.ts";

const groups: Readonly<Record<string, StatisticsGroup>> = {
  account: "account",
  key: "key",
  model: "model",
  provider: "plugin",
  status: "status",
  session: "session",
  tag: "tag",
  "end-user": "end_user",
};
const names = Object.keys(groups);
/** Requests that name none of these have no row, but are in the totals. */
const optionalNames: ReadonlySet<string> = new Set(["session", "tag", "end-user"]);
const [daysDefault, daysMax, limitDefault, limitMax] = [7, 366, 20, 200];
const toJson = (figures: StatisticsFigures) => ({ ...toFiguresJson(figures), ...toMarginJson(figures) });
const hourMs = 3_600_000;
const dayHours = 24;

export const usage = defineCommand({
  name: "usage",
  description: "Show spend, requests and errors of the last days, today included, by account or other names",
  flags: {
    by: { value: "GROUP", description: `One row for each: ${names.join(", ")}; default account`, choices: names },
    account: { value: "A", description: "Only this account, by id, e-mail or name of a team" },
    days: { value: "N", description: `UTC days, 1 to ${daysMax}; default ${daysDefault}` },
    limit: { value: "N", description: `Maximum number of rows (default ${limitDefault}, up to ${limitMax})` },
  },
  args: [],
  example: "usage --by model --account ada@example.org --days 30",
  async run(context, { flags, config, now }) {
    const { by = "account" } = flags;
    const group = groups[by];
    if (group === undefined) throw new UsageError(`--by is ${by}, expected ${names.join(", ")}`);
    const days = parseWithin("--days", flags.days ?? String(daysDefault), daysMax);
    const limit = parseWithin("--limit", flags.limit ?? String(limitDefault), limitMax);
    const today = Math.floor(now / hourMs / dayHours);
    const starts = Array.from({ length: days }, (_, place) => (today - days + 1 + place) * dayHours);
    const nameOfModel = group === "model" ? await readModelNames(context, config) : String;
    const json = await withStore(
      config,
      async ({ store, accounts }) => {
        const accountId = flags.account === undefined ? undefined : (await expectAccount(accounts, flags.account)).id;
        const query = { filter: { accountId }, hours: dayHours, starts } as const;
        const totals = await readTotals(store, query);
        const { groups: rows } = await readGroups(store, query, { group, rank: "cost", limit, charted: 0 });
        const labels = await labelsOf(
          store,
          rows.map(({ value, accountId }) => (group === "account" ? value : accountId)),
        );
        return {
          from: new Date((starts[0] ?? 0) * hourMs).toISOString(),
          until: new Date(now).toISOString(),
          group: by,
          total: toJson(readFigures(sumFigures(totals.values()))),
          data: rows.map(({ value, accountId, total }) => ({
            value,
            name: group === "account" ? (labels.get(value) ?? null) : group === "model" ? nameOfModel(value) : null,
            account: labels.get(accountId) ?? null,
            ...toJson(readFigures(total)),
          })),
        };
      },
      now,
    );
    const hasAccounts = json.data.some((row) => row.account !== null);
    type Shown = Omit<typeof json.total, "from">;
    const toRow = (name: string, account: string | null, figures: Shown) => [
      name,
      ...(hasAccounts ? [account ?? ""] : []),
      `$${figures.cost_usd}`,
      `$${figures.provider_cost_usd}`,
      `$${figures.earned_usd}`,
      figures.margin === null ? "–" : `${(figures.margin * 100).toFixed(1)} %`,
      String(figures.requests),
      String(figures.errors),
      String(figures.prompt_tokens),
      String(figures.completion_tokens),
    ];
    const marginHead = ["provider cost", "earned", "margin"];
    const head = [
      by,
      ...(hasAccounts ? ["account"] : []),
      "cost",
      ...marginHead,
      "requests",
      "errors",
      "prompt",
      "completion",
    ];
    const rows = json.data.map((row) => toRow(row.name ?? (row.value || "–"), row.account, row));
    const all = optionalNames.has(by) ? `in all, also without ${by.replace("-", " ")}` : "in all";
    return { json, text: columns([head, ...rows, toRow(all, null, json.total)]) };
  },
});
