import { useState } from "react";
import useSWR from "swr";
import { organization, readPages, request } from "../../data/api.ts";
import { formatExactUsd } from "../../format.ts";
import { Callout } from "../../kit/feedback.tsx";
import { SelectField, TextAreaField, TextField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { Section } from "../../kit/page.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { useModelNames } from "../models/api.ts";

type Bill = Parameters<typeof organization.reconciliations.post>[0];
const reconcile = (bill: Bill) => request(organization.reconciliations.post(bill));
type Reconciliation = Awaited<ReturnType<typeof reconcile>>;
type Difference = Reconciliation["differences"][number];

const getProviders = () => readPages((query) => request(organization.providers.get({ query })));

/** Compares a provider's bill with the ledger. Nothing is kept of the file. */
export function ReconcileSection() {
  const { data: providers = [] } = useSWR("providers-reconciled", getProviders);
  const [outcome, setOutcome] = useState<Reconciliation>();
  const form = useForm(
    { provider: "", content: "", tolerance_percent: "" },
    async ({ provider, content, tolerance_percent: tolerance }) => {
      setOutcome(undefined);
      const body = { content, ...(provider !== "" && { provider }) };
      setOutcome(
        await reconcile({ ...body, ...(tolerance.trim() !== "" && { tolerance_percent: Number(tolerance) }) }),
      );
    },
  );
  return (
    <Section title="Compare a provider’s bill">
      <div className="card-body stack">
        <p className="soft">
          A CSV with the columns day, model and some of requests, cost_usd and the units. Costs are compared with what
          the provider is owed, before markups. It is not stored.
        </p>
        <Form form={form}>
          <div className="grid-two">
            <SelectField
              label="Provider"
              options={[["", "All providers"], ...providers.map(({ name }) => [name, name] as const)]}
              value={form.values.provider}
              onText={(provider: string) => form.set({ provider })}
            />
            <TextField
              label="Tolerance (%)"
              inputMode="decimal"
              autoComplete="off"
              placeholder="0"
              {...form.field("tolerance_percent")}
            />
          </div>
          <label className="field">
            <span>File</span>
            <input
              type="file"
              accept=".csv,text/csv"
              onChange={async ({ target }) => form.set({ content: (await target.files?.[0]?.text()) ?? "" })}
            />
          </label>
          <TextAreaField
            label="Rows"
            rows={5}
            spellCheck={false}
            autoComplete="off"
            placeholder={"day,model,requests,cost_usd\n2026-11-21,gpt-4.1,13,0.098118"}
            {...form.field("content")}
          />
          <div className="row">
            <Submit form={form} label="Compare" busyLabel="Comparing…" isComplete={form.values.content.trim() !== ""} />
          </div>
        </Form>
      </div>
      {outcome !== undefined && <Outcome outcome={outcome} />}
    </Section>
  );
}

function Outcome({ outcome: { ok, rows_compared: count, figures, differences } }: { outcome: Reconciliation }) {
  const nameOf = useModelNames();
  const compared = `${count} ${count === 1 ? "row" : "rows"} compared by ${figures.join(", ")}`;
  return (
    <>
      <div className="card-body">
        <Callout tone={ok ? "good" : "warn"}>
          {ok
            ? `No differences: ${compared}`
            : `${differences.length} ${differences.length === 1 ? "difference" : "differences"}; ${compared}`}
        </Callout>
      </div>
      {!ok && (
        <Table
          rows={differences}
          rowKey={({ day, model, figure }) => `${day} ${model} ${figure}`}
          sortName="bill"
          fileName="bill"
          columns={toColumns(nameOf)}
        />
      )}
    </>
  );
}

const format = ({ figure }: Difference, amount: string) => (figure === "cost_usd" ? formatExactUsd(amount) : amount);

const toColumns = (nameOf: (id: string) => string): readonly Column<Difference>[] => [
  { name: "Day", className: "nowrap lead", sort: ({ day }) => day, cell: ({ day }) => day },
  { name: "Model", className: "name", sort: ({ model }) => nameOf(model), cell: ({ model }) => nameOf(model) },
  { name: "Figure", sort: ({ figure }) => figure, cell: ({ figure }) => figure },
  {
    name: "Ledger",
    className: "end",
    sort: ({ ledger }) => Number(ledger),
    cell: (row) => format(row, row.ledger),
  },
  {
    name: "Provider",
    className: "end",
    sort: ({ provider }) => Number(provider),
    cell: (row) => format(row, row.provider),
  },
];
