import { type AccountUsage, useAccountUsage } from "../../data/admin.ts";
import { formatCount, formatShort } from "../../format.ts";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Section } from "../../kit/page.tsx";
import { type Column, figureColumn, Table, usdColumn } from "../../kit/table.tsx";

/** Usage of an account in the last 30 days, by model, the most expensive first. */
export function UsageSection({ accountId }: { accountId: string }) {
  const usage = useAccountUsage(accountId);
  return (
    <Section title="Usage in the last 30 days">
      <Loaded state={usage}>
        {({ data }) => (
          <Table
            rows={data}
            rowKey={({ model }) => model}
            columns={columns}
            empty={empty}
            fileName="usage-of-account"
          />
        )}
      </Loaded>
    </Section>
  );
}

const columns: readonly Column<AccountUsage>[] = [
  {
    name: "Model",
    className: "name lead",
    sort: ({ model_name: name }) => name,
    cell: ({ model_name: name }) => <strong className="cut">{name}</strong>,
  },
  figureColumn("Requests", ({ requests }) => requests),
  figureColumn("Failed", ({ failures }) => failures),
  {
    name: "Tokens",
    className: "end",
    sort: ({ tokens }) => tokens,
    cell: ({ tokens }) => <span title={formatCount(tokens)}>{formatShort(tokens)}</span>,
  },
  usdColumn("Cost", ({ cost_usd }) => cost_usd),
  usdColumn("Charged", ({ charged_usd }) => charged_usd),
];

const empty = (
  <Empty icon="overview" title="No calls in the last 30 days">
    <p>Requests, tokens and cost of the account's calls are listed here by model.</p>
  </Empty>
);
