import { formatMoment, formatUsd } from "../../format.ts";
import type { Column } from "../../kit/table.tsx";

/** The figures of a budget, as the management API has it. */
export interface ListedBudget {
  readonly id: string;
  /** `organization.budget`: the gateway's, over each account by itself. */
  readonly object: string;
  readonly subject: string;
  /** `null`: each by itself. */
  readonly name: string | null;
  readonly api_key_id: string | null;
  readonly budget_usd: string;
  readonly budget_period: string;
  readonly raise_usd: string | null;
  /** Seconds since 1970. */
  readonly raise_until: number | null;
  /** `null` where each has its own. */
  readonly used_usd: string | null;
}

/** Returns the name that people know a key or a model by. */
export type ToName = (subject: "key" | "model", name: string) => string;

/** The owner of a budget: `each end user`, `model gpt-4.1`, with the key whose calls alone it counts. */
export function toBudgetText({ object, subject, name, api_key_id: key }: ListedBudget, toName: ToName): string {
  const kind = subject.replace("_", " ");
  const shown = name !== null && (subject === "key" || subject === "model") ? toName(subject, name) : name;
  const isOfEach = object === "organization.budget";
  const whose =
    subject === "account" && !isOfEach ? "the account" : shown === null ? `each ${kind}` : `${kind} ${shown}`;
  return key === null ? whose : `${whose} with the key ${toName("key", key)}`;
}

/** The amount in force in US dollars, and until when it is raised. */
export function toLimit({ budget_usd, raise_usd, raise_until }: ListedBudget, now: number = Date.now()) {
  const isRaised = raise_usd !== null && raise_until !== null && raise_until * 1000 > now;
  return {
    usd: String(Number(budget_usd) + (isRaised ? Number(raise_usd) : 0)),
    raisedUntil: isRaised ? new Date(raise_until * 1000).toISOString() : undefined,
  };
}

/** How long a budget lasts, behind its amount. */
export function toPeriodText(period: string): string {
  if (period === "lifetime") return "in all";
  return period === "session" ? "until silent for a day" : `a ${period}`;
}

/** The columns of a list of budgets. */
export function toBudgetColumns<Row extends ListedBudget>(toName: ToName): readonly Column<Row>[] {
  const toText = (budget: Row) => toBudgetText(budget, toName);
  return [
    { name: "Budget of", className: "name lead", cell: toText, sort: toText },
    {
      name: "Spent",
      className: "end",
      cell: ({ used_usd: used }) => (used === null ? <span className="faint">each by itself</span> : formatUsd(used)),
      sort: ({ used_usd: used }) => (used === null ? null : Number(used)),
    },
    {
      name: "Limit",
      className: "end",
      cell: (budget) => {
        const { usd, raisedUntil } = toLimit(budget);
        return (
          <>
            {formatUsd(usd)} {toPeriodText(budget.budget_period)}
            {raisedUntil !== undefined && <span className="sub">raised until {formatMoment(raisedUntil)}</span>}
          </>
        );
      },
      sort: (budget) => Number(toLimit(budget).usd),
    },
  ];
}
