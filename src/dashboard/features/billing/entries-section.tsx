import { useState } from "react";
import useSWR, { mutate } from "swr";
import { refreshAccounts } from "../../data/admin.ts";
import { api, organization, request, slowRefresh } from "../../data/api.ts";
import { useMayAdminister } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { formatMoment, formatUsd, formatUtcDay } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { Section, Usd } from "../../kit/page.tsx";
import { actionsColumn, type Column, Pager, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { usePageNumber } from "../../kit/url-state.ts";

const getEntries = (page: number, account: string | undefined) => {
  const query = { page: String(page) };
  return request(
    account === undefined ? api.entries.get({ query }) : api.admin.accounts({ id: account }).entries.get({ query }),
  );
};
type Entry = Awaited<ReturnType<typeof getEntries>>["data"][number];

const kinds: Record<Entry["kind"], string> = { charges: "Usage", credit: "Credit", debit: "Debit" };

/**
 * All wallet transactions with the balance after each, newest first; charges of calls are summed per day.
 *
 * @param account The account whose transactions an administrator reads; absent: the user's own.
 */
export function EntriesSection({ account }: { account?: string }) {
  const [page, toPage] = usePageNumber();
  const entries = useSWR(["entries", page, account], () => getEntries(page, account), slowRefresh);
  const { data: me } = useMe();
  const mayAdminister = useMayAdminister();
  const [reversed, setReversed] = useState<Entry>();
  const owner = account ?? me?.account;
  return (
    <Section title="Transactions" actions={<span className="faint">Usage is summed up by UTC day</span>}>
      <Loaded state={entries}>
        {({ data, pages }) => (
          <>
            <Table
              rows={data}
              rowKey={toRowKey}
              columns={mayAdminister ? [...columns, toActions(setReversed)] : columns}
              empty={empty}
            />
            <Pager labels={["Newer", "Older"]} page={page} hasMore={page < pages} toPage={toPage}>
              <span>
                Page {page} of {pages}
              </span>
            </Pager>
          </>
        )}
      </Loaded>
      {reversed !== undefined && owner !== undefined && (
        <ReverseDialog account={owner} entry={reversed} onClose={() => setReversed(undefined)} />
      )}
    </Section>
  );
}

/** Why a credit has no button. A debit needs no reason. */
const refusals: Partial<Record<NonNullable<NonNullable<Entry["reversal"]>["refusal"]>, string>> = {
  reversed: "Reversed",
  payment: "Refund it at the payment provider",
  voucher: "Belongs to its voucher",
  demo_credit: "Ends with the first provider",
};

function toActions(onReverse: (entry: Entry) => void): Column<Entry> {
  return actionsColumn((entry) => {
    const { reversal, amount_usd: usd, note } = entry;
    if (reversal === null) return null;
    if (reversal.refusal !== null) return <span className="faint">{refusals[reversal.refusal]}</span>;
    return (
      <Button
        look="plain small bad"
        aria-label={`Reverse the credit of ${formatUsd(usd)}: ${note ?? "without a note"}`}
        onClick={() => onReverse(entry)}
      >
        Reverse
      </Button>
    );
  });
}

/** Asks before a credit is taken back, with the note of the debit. */
function ReverseDialog({
  account,
  entry: { reversal, amount_usd: usd, note, at },
  onClose,
}: {
  account: string;
  entry: Entry;
  onClose: () => void;
}) {
  const form = useForm({ note: "" }, async ({ note: text }) => {
    const reason = text.trim();
    const { balance_usd: balance } = await request(
      organization
        .projects({ project_id: account })
        .reversals.post({ transaction_id: reversal?.id ?? "", ...(reason !== "" && { note: reason }) }),
    );
    await Promise.all([refreshAccounts(), mutate("me")]);
    toast(`The credit is reversed; the balance is ${formatUsd(balance)}`);
    onClose();
  });
  return (
    <FormDialog
      title={`Reverse the credit of ${formatUsd(usd)}?`}
      description={`Added ${formatMoment(at)}${note === null ? "" : `: ${note}`}`}
      form={form}
      label="Reverse credit"
      busyLabel="Reversing…"
      onClose={onClose}
    >
      <p>
        The whole amount is deducted. If some of it is spent, the balance becomes negative, and no paid request is
        admitted until there is credit again. Running requests end as usual.
      </p>
      <TextField
        label="Reason (shown on the statement)"
        placeholder={note ?? ""}
        autoComplete="off"
        maxLength={400}
        {...form.field("note")}
      />
    </FormDialog>
  );
}

const toRowKey = ({ at, kind, amount_usd, balance_usd }: Entry) => `${at} ${kind} ${balance_usd} ${amount_usd}`;

const columns: readonly Column<Entry>[] = [
  {
    name: "Date",
    className: "tight",
    cell: ({ kind, at }) => (kind === "charges" ? formatUtcDay(at) : formatMoment(at)),
  },
  {
    name: "Type",
    cell: ({ kind }) => <span className={kind === "credit" ? "badge is-good" : "badge"}>{kinds[kind]}</span>,
  },
  {
    name: "Note",
    className: "break soft",
    cell: ({ note }) => note,
  },
  { name: "Amount", className: "end", cell: ({ amount_usd }) => <Usd value={amount_usd} isAligned /> },
  { name: "Balance", className: "end", cell: ({ balance_usd }) => <Usd value={balance_usd} isAligned /> },
];

const empty = (
  <Empty icon="billing" title="No transactions yet">
    <p>Credits, vouchers and the daily cost of your calls are listed here with the balance after each.</p>
  </Empty>
);
