import { Link } from "wouter";
import { formatShare, formatUsd } from "../../format.ts";
import { Dialog, DialogContent } from "../../kit/dialog.tsx";
import { Callout, Empty, Loaded } from "../../kit/feedback.tsx";
import { Usd } from "../../kit/page.tsx";
import { Table } from "../../kit/table.tsx";
import type { Key } from "../keys/api.ts";
import { useModels } from "../models/api.ts";
import type { Field } from "../resources/api.ts";
import { type Adjust, formOnly, ResourceDialog, type Texts } from "../resources/form.tsx";
import { type Budget, type BudgetSubject, eachAccount, useSpending } from "./api.ts";
import { calendarPeriods, isWhole, periodsOf, subjectsOf, whyEach } from "./budget-choices.ts";
import { type ListedBudget, type ToName, toLimit, toPeriodText } from "./budget-columns.tsx";

const nameHints: Partial<Record<BudgetSubject, string>> = {
  end_user: "As requests name them, such as in the field safety_identifier",
  tag: "As requests name it",
  session: "As requests name it",
};

function hintOfEach(subject: BudgetSubject): string {
  return subject === "session"
    ? "Requests that name no session count together as one session. Names with their own budget are not included"
    : "Names with their own budget are not included";
}

/** It decides what the name of a new budget is: each subject by itself, or one of them. */
const whoseField: Field = { ...formOnly, name: "whose", label: "Whose" };

/** The fields that identify what a budget counts. */
const targetFields = ["subject", "name", "api_key_id"] as const;

/** Creates a budget. What it counts cannot be changed later. */
export function NewBudgetDialog({
  account,
  keys,
  present,
  onClose,
}: {
  account: string;
  /** The usable keys of the account. */
  keys: readonly Key[];
  /** The budgets that the account has, or the gateway. */
  present: readonly ListedBudget[];
  onClose: () => void;
}) {
  const isOfGateway = account === eachAccount;
  const { data: models } = useModels();
  const named = {
    key: keys.map(({ id, name }) => [id, name] as const),
    model: (models?.data ?? []).map(({ id, name }) => [id, name] as const),
  };
  const adjust: Adjust = ({ name }, texts) => {
    const { subject, whose } = toChoice(texts);
    const isOne = whose === "one";
    if (name === "subject") return { label: "Counts the calls of", choices: subjectsOf(isOfGateway) };
    if (name === "whose") {
      const reason = whyEach({ isOfGateway, subject });
      if (!isOfGateway && isWhole({ subject })) return false;
      return {
        choices: [
          ["each", "Each by itself"],
          ["one", "One of them"],
        ],
        refused: reason === undefined ? [] : ["one"],
        hint: reason ?? (isOne ? null : hintOfEach(subject)),
      };
    }
    if (name === "name") {
      if (!isOne) return false;
      const choices =
        subject === "key" || subject === "model" ? { kind: "choice" as const, choices: named[subject] } : {};
      return { isRequired: true, empty: choices.kind ? "Choose…" : null, hint: nameHints[subject] ?? null, ...choices };
    }
    if (name === "api_key_id") return !isOfGateway && !isWhole({ subject }) && subject !== "key" && {};
    if (name === "budget_period") {
      const { options, refused, reason } = periodsOf({ isOfGateway, subject, whose });
      return { choices: options, refused, ...(reason !== undefined && { hint: reason }) };
    }
    return name !== "raise_usd" && name !== "raise_until" && {};
  };
  const isPresent = (texts: Texts) => {
    const { subject, whose } = toChoice(texts);
    const target = {
      subject,
      name: whose === "one" ? (texts.name ?? "").trim() : null,
      api_key_id: texts.api_key_id || null,
    };
    return present.some(
      (one) => one.budget_period === texts.budget_period && targetFields.every((field) => one[field] === target[field]),
    );
  };
  return (
    <ResourceDialog
      name="budget"
      title={isOfGateway ? "New budget for everybody" : "New budget"}
      description={
        isOfGateway
          ? "It binds each account and each of its keys, sessions and so on by itself. Requests that would cost more than the rest are refused."
          : "Requests that would cost more than the rest of the budget are refused."
      }
      account={isOfGateway ? undefined : account}
      initial={{
        subject: isOfGateway ? "account" : "end_user",
        whose: "each",
        budget_period: isOfGateway ? "month" : "day",
      }}
      withFields={([subject, ...others]) => (subject === undefined ? [] : [subject, whoseField, ...others])}
      adjust={adjust}
      toBody={({ whose: _, ...body }) => body}
      label="Create budget"
      busyLabel="Creating…"
      saved="The budget is set"
      isSendable={(texts) => !isPresent(texts)}
      onClose={onClose}
    >
      {(texts) =>
        isPresent(texts) && (
          <Callout tone="warn">There is a budget for this already. Edit that one, or choose another period.</Callout>
        )
      }
    </ResourceDialog>
  );
}

/** Reads the choices of a form: of a whole account or team there is each alone. */
function toChoice({ subject, whose }: Texts): { subject: BudgetSubject; whose: "each" | "one" } {
  const chosen = subject as BudgetSubject;
  return { subject: chosen, whose: whose === "one" && !isWhole({ subject: chosen }) ? "one" : "each" };
}

/** Changes the amount and the period of a budget, and raises it for a time. */
export function EditBudgetDialog({
  account,
  budget,
  others,
  title,
  onClose,
}: {
  account: string;
  budget: Budget;
  /** The budgets of the same account, or of the gateway. */
  others: readonly ListedBudget[];
  /** The owner of the budget, in words. */
  title: string;
  onClose: () => void;
}) {
  const refused = others
    .filter((one) => one.id !== budget.id && targetFields.every((field) => one[field] === budget[field]))
    .map(({ budget_period: period }) => period);
  const isEndless = !calendarPeriods.some(([period]) => period === budget.budget_period);
  const isRaised = toLimit(budget).raisedUntil !== undefined;
  const adjust: Adjust = ({ name }) => {
    if (name === "budget_usd" && isEndless) {
      return { label: `Budget (USD, ${toPeriodText(budget.budget_period)})`, isHalf: false, hint: null };
    }
    if (name !== "budget_period") return {};
    if (isEndless) return false;
    const hint = "It has another budget for each period that is grey";
    return { choices: calendarPeriods, refused, ...(refused.length > 0 && { hint }) };
  };
  return (
    <ResourceDialog
      name="budget"
      title="Edit budget"
      description={`${title}. The recorded spend stays.`}
      account={account === eachAccount ? undefined : account}
      entry={isRaised ? budget : { ...budget, raise_usd: null, raise_until: null }}
      adjust={adjust}
      saved="The budget is changed"
      isSendable={({ raise_usd: usd = "", raise_until: until }) => (usd.trim() === "") === (until === "")}
      onClose={onClose}
    />
  );
}

const accountColumn = {
  name: "Account",
  className: "break",
  cell: ({ project_id: id }: { project_id: string }) => (
    <Link className="link" href={`/admin/accounts/${id}`}>
      {id}
    </Link>
  ),
};

/** The subjects that have spent the most of a budget of each by itself, in the period that runs. */
export function SpendingDialog({
  account,
  budget,
  title,
  toName,
  onClose,
}: {
  account: string;
  budget: Budget;
  title: string;
  toName: ToName;
  onClose: () => void;
}) {
  const spending = useSpending(account, budget.id);
  const { subject } = budget;
  const toShown = (name: string) => (subject === "key" || subject === "model" ? toName(subject, name) : name);
  const { usd } = toLimit(budget);
  const limit = Number(usd);
  return (
    <Dialog
      title="Largest spenders"
      description={`${title}: ${formatUsd(usd)} each, in the current period`}
      onClose={onClose}
    >
      <DialogContent label="Close" onClose={onClose}>
        <Loaded state={spending} lines={4}>
          {({ data, has_more }) => (
            <>
              <Table
                rows={data}
                rowKey={({ project_id, name }) => `${project_id} ${name}`}
                isPlain
                columns={[
                  {
                    name: "Name",
                    className: "lead break",
                    cell: ({ name }) => (name === null ? "Calls without a name" : toShown(name)),
                  },
                  ...(account === eachAccount ? [accountColumn] : []),
                  { name: "Spent", className: "end", cell: ({ used_usd }) => <Usd value={used_usd} isAligned /> },
                  {
                    name: "Of its budget",
                    className: "end",
                    cell: ({ used_usd }) => (limit === 0 ? "–" : formatShare(Math.min(1, Number(used_usd) / limit))),
                  },
                ]}
                empty={<Empty icon="billing" title="Nothing spent yet" />}
              />
              {has_more && <p className="soft">The 100 with the highest spend</p>}
            </>
          )}
        </Loaded>
      </DialogContent>
    </Dialog>
  );
}
