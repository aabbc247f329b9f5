import { toComparison, toFiguresJson, toMarginJson } from "../../http/dashboard-api/statistics-json.ts";
import {
  isMonth,
  readFigures,
  readGroups,
  readGroupsBefore,
  readSum,
  readTotals,
  type StatisticsFigures,
  type StatisticsGroup,
  sumFigures,
  toMonthSpan,
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
  description:
    "Show spend, requests and errors of the last days, today included, or of a month, by account or other names",
  flags: {
    by: { value: "GROUP", description: `One row for each: ${names.join(", ")}; default account`, choices: names },
    account: { value: "A", description: "Only this account, by id, e-mail or name of a team" },
    days: { value: "N", description: `UTC days, 1 to ${daysMax}; default ${daysDefault}` },
    month: { value: "2026-11", description: "A UTC month instead of the last days" },
    compare: {
      value: "",
      description: "Show the change since the same number of days before, up to the same hour of the day",
    },
    limit: { value: "N", description: `Maximum number of rows (default ${limitDefault}, up to ${limitMax})` },
  },
  args: [],
  example: "usage --by model --account ada@example.org --days 30 --compare",
  async run(context, { flags, config, now }) {
    const { by = "account" } = flags;
    const group = groups[by];
    if (group === undefined) throw new UsageError(`--by is ${by}, expected ${names.join(", ")}`);
    const limit = parseWithin("--limit", flags.limit ?? String(limitDefault), limitMax);
    const { starts, end } = readDays(flags, now);
    const days = starts.length;
    const nameOfModel = group === "model" ? await readModelNames(context, config) : String;
    const json = await withStore(
      config,
      async ({ store, accounts }) => {
        const accountId = flags.account === undefined ? undefined : (await expectAccount(accounts, flags.account)).id;
        const query = { filter: { accountId }, hours: dayHours, starts } as const;
        const totals = await readTotals(store, query);
        const { groups: rows } = await readGroups(store, query, { group, rank: "cost", limit, charted: 0 });
        const until = end / hourMs;
        const before = { from: (starts[0] ?? 0) - days * dayHours, until: until - days * dayHours };
        const ofGroups = flags.compare
          ? await readGroupsBefore(store, query.filter, before, { group, groups: rows })
          : undefined;
        const total = toJson(readFigures(sumFigures(totals.values())));
        const ofTotal = flags.compare ? toJson(readFigures(await readSum(store, query.filter, before))) : undefined;
        const span = {
          from: new Date(before.from * hourMs).toISOString(),
          until: new Date(before.until * hourMs).toISOString(),
        };
        const labels = await labelsOf(
          store,
          rows.map(({ value, accountId }) => (group === "account" ? value : accountId)),
        );
        return {
          from: new Date((starts[0] ?? 0) * hourMs).toISOString(),
          until: new Date(Math.min(now, end)).toISOString(),
          group: by,
          total: { ...total, ...(ofTotal && { previous: { ...span, ...toComparison(total, ofTotal) } }) },
          data: rows.map(({ value, accountId, total: figures }, place) => ({
            value,
            name: group === "account" ? (labels.get(value) ?? null) : group === "model" ? nameOfModel(value) : null,
            account: labels.get(accountId) ?? null,
            ...toJson(readFigures(figures)),
            ...(ofGroups && {
              previous: toComparison(toJson(readFigures(figures)), toJson(readFigures(ofGroups[place]))),
            }),
          })),
        };
      },
      now,
    );
    const hasAccounts = json.data.some((row) => row.account !== null);
    type Shown = ReturnType<typeof toJson> & { previous?: ReturnType<typeof toComparison> | undefined };
    const toRow = (name: string, account: string | null, figures: Shown) => [
      name,
      ...(hasAccounts ? [account ?? ""] : []),
      toAmount(figures.cost_usd),
      ...(figures.previous === undefined
        ? []
        : [toAmount(figures.previous.cost_usd), formatChange(figures.previous.change_percent.cost_usd)]),
      toAmount(figures.provider_cost_usd),
      toAmount(figures.earned_usd),
      figures.margin === null ? "–" : formatMargin(figures.margin),
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
      ...(flags.compare ? ["cost before", "change"] : []),
      ...marginHead,
      "requests",
      "errors",
      "prompt",
      "completion",
    ];
    const rows = json.data.map((row) => toRow(row.name || row.value || "–", row.account, row));
    const all = optionalNames.has(by) ? `in all, also without ${by.replace("-", " ")}` : "in all";
    const { previous } = json.total;
    const of = `${toMinute(json.from)} until ${toMinute(json.until)} UTC`;
    const before =
      previous === undefined ? "" : `; before: ${toMinute(previous.from)} until ${toMinute(previous.until)}`;
    return { json, text: `${columns([head, ...rows, toRow(all, null, json.total)])}\n\n${of}${before}` };
  },
});

/** The hours at which the days begin: those of a month until now, or the last ones. The hour that runs counts. */
function readDays(
  { days: text, month }: { readonly days?: string | undefined; readonly month?: string | undefined },
  now: number,
): { readonly starts: readonly number[]; readonly end: number } {
  const thisHour = (Math.floor(now / hourMs) + 1) * hourMs;
  const today = Math.floor(now / hourMs / dayHours);
  if (month === undefined) {
    const days = parseWithin("--days", text ?? String(daysDefault), daysMax);
    return { starts: toStarts(today - days + 1, today), end: thisHour };
  }
  if (text !== undefined) throw new UsageError("Cannot use --days and --month together; a month has its own days");
  if (!isMonth(month)) throw new UsageError(`--month is ${month}, expected a month such as 2026-11`);
  const { from, until } = toMonthSpan(month, now);
  const [first, end] = [toDay(from), toDay(until)];
  if (first > today) throw new UsageError(`--month is ${month}, which has not begun`);
  return { starts: toStarts(first, Math.min(today, end - 1)), end: Math.min(thisHour, end * dayHours * hourMs) };
}

const toDay = (at: number) => Math.floor(at / hourMs / dayHours);

function toStarts(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, place) => (first + place) * dayHours);
}

const toMinute = (iso: string) => iso.slice(0, 16).replace("T", " ");

/** An amount with its sign: earnings are negative where the free quota paid. */
function toAmount(usd: string): string {
  return usd.startsWith("-") ? `−$${usd.slice(1)}` : `$${usd}`;
}

function formatMargin(margin: number): string {
  const percent = (Math.abs(margin) * 100).toFixed(1);
  return `${margin < 0 && Number(percent) > 0 ? "−" : ""}${percent} %`;
}

function formatChange(percent: number | null): string {
  if (percent === null) return "–";
  return `${percent < 0 ? "−" : "+"}${Math.abs(percent).toFixed(1)} %`;
}
