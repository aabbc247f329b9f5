import { Link } from "wouter";
import { formatUsd } from "../../format.ts";
import { Dialog, DialogContent } from "../../kit/dialog.tsx";
import { Callout, Empty, Loaded } from "../../kit/feedback.tsx";
import { SelectField, TextField } from "../../kit/field.tsx";
import { UsdField } from "../../kit/figures.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { Usd } from "../../kit/page.tsx";
import { Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import type { Key } from "../keys/api.ts";
import { useModels } from "../models/api.ts";
import {
  type Budget,
  type BudgetPeriod,
  type BudgetSubject,
  changeBudget,
  createBudget,
  eachAccount,
  useSpending,
} from "./api.ts";
import { calendarPeriods, isWhole, periodsOf, subjectsOf, whyEach } from "./budget-choices.ts";
import { type ListedBudget, type ToName, toLimit, toPeriodText } from "./budget-columns.tsx";
import { BudgetFields } from "./budget-fields.tsx";

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

const newBudget = {
  whose: "each" as "each" | "one",
  name: "",
  api_key_id: "",
  budget_usd: "",
};

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
  const initial = {
    ...newBudget,
    subject: (isOfGateway ? "account" : "end_user") as BudgetSubject,
    budget_period: (isOfGateway ? "month" : "day") as BudgetPeriod,
  };
  const form = useForm(initial, async () => {
    await createBudget(account, { ...target, budget_usd: budget_usd.trim() });
    toast("The budget is set");
    onClose();
  });
  const { data: models } = useModels();
  const { subject, name, api_key_id: keyId, budget_usd } = form.values;
  const reasonOfEach = whyEach({ isOfGateway, subject });
  const whose = reasonOfEach !== undefined || isWhole({ subject }) ? "each" : form.values.whose;
  const { options: periods, refused = [], reason } = periodsOf({ isOfGateway, subject, whose });
  const isOfKey = !isOfGateway && !isWhole({ subject }) && subject !== "key";
  const target = {
    subject,
    name: whose === "one" ? name.trim() : null,
    api_key_id: isOfKey && keyId !== "" ? keyId : null,
    budget_period: form.values.budget_period,
  };
  /** The first period that a choice can have stands in for one that it cannot. */
  const choose = (change: Partial<typeof form.values>) => {
    const next = { ...form.values, ...change, name: "" };
    const possible = periodsOf({ isOfGateway, subject: next.subject, whose: next.whose });
    const open = possible.options.filter(([period]) => possible.refused?.includes(period) !== true);
    const isPossible = open.some(([period]) => period === next.budget_period);
    form.set({ ...next, ...(!isPossible && { budget_period: open[0]?.[0] ?? "month" }) });
  };
  const isPresent = present.some((one) =>
    (["subject", "name", "api_key_id", "budget_period"] as const).every((field) => one[field] === target[field]),
  );
  const keyOptions = keys.map(({ id, name: label }) => [id, label] as const);
  const choices =
    subject === "key" ? keyOptions : (models?.data ?? []).map(({ id, name: label }) => [id, label] as const);
  return (
    <FormDialog
      title={isOfGateway ? "New budget for everybody" : "New budget"}
      description={
        isOfGateway
          ? "It binds each account and each of its keys, sessions and so on by itself. Requests that would cost more than the rest are refused."
          : "Requests that would cost more than the rest of the budget are refused."
      }
      form={form}
      label="Create budget"
      busyLabel="Creating…"
      isComplete={budget_usd.trim() !== "" && target.name !== "" && !isPresent}
      onClose={onClose}
    >
      <SelectField
        label="Counts the calls of"
        options={subjectsOf(isOfGateway)}
        value={subject}
        onText={(chosen) => choose({ subject: chosen })}
        error={form.fieldError("subject")}
      />
      {(isOfGateway || !isWhole({ subject })) && (
        <SelectField
          label="Whose"
          options={[
            ["each", "Each by itself"],
            ["one", "One of them"],
          ]}
          refused={reasonOfEach === undefined ? [] : ["one"]}
          value={whose}
          onText={(chosen) => choose({ whose: chosen })}
          hint={reasonOfEach ?? (whose === "each" ? hintOfEach(subject) : undefined)}
        />
      )}
      {whose === "one" && (subject === "key" || subject === "model") && (
        <SelectField label="Name" options={[["", "Choose…"], ...choices]} {...form.field("name")} />
      )}
      {whose === "one" && subject !== "key" && subject !== "model" && (
        <TextField label="Name" autoComplete="off" {...form.field("name")} hint={nameHints[subject]} />
      )}
      {isOfKey && (
        <SelectField label="With" options={[["", "All API keys"], ...keyOptions]} {...form.field("api_key_id")} />
      )}
      <BudgetFields form={form} periods={periods} refused={refused} reason={reason} />
      {isPresent && (
        <Callout tone="warn">There is a budget for this already. Edit that one, or choose another period.</Callout>
      )}
    </FormDialog>
  );
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
  const { raise_usd, raise_until } = budget;
  const periodsOfOthers = others
    .filter(
      (one) =>
        one.id !== budget.id &&
        (["subject", "name", "api_key_id"] as const).every((field) => one[field] === budget[field]),
    )
    .map(({ budget_period: period }) => period as BudgetPeriod);
  const { raisedUntil } = toLimit(budget);
  const present = {
    budget_usd: budget.budget_usd,
    budget_period: budget.budget_period,
    raise_usd: raisedUntil === undefined ? "" : (raise_usd ?? ""),
    raise_until: raisedUntil?.slice(0, 10) ?? "",
  };
  const form = useForm(present, async (draft) => {
    const raise = draft.raise_usd.trim();
    const until = draft.raise_until === present.raise_until ? raise_until : toEndOfDay(draft.raise_until);
    await changeBudget(account, budget.id, {
      budget_usd: draft.budget_usd.trim(),
      ...(draft.budget_period !== budget.budget_period && { budget_period: draft.budget_period }),
      raise_usd: raise === "" ? null : raise,
      raise_until: raise === "" ? null : until,
    });
    toast("The budget is changed");
    onClose();
  });
  const { values } = form;
  return (
    <FormDialog
      title="Edit budget"
      description={`${title}. The recorded spend stays.`}
      form={form}
      isComplete={values.budget_usd.trim() !== "" && (values.raise_usd.trim() === "") === (values.raise_until === "")}
      onClose={onClose}
    >
      {calendarPeriods.some(([period]) => period === budget.budget_period) ? (
        <BudgetFields
          form={form}
          periods={calendarPeriods}
          refused={periodsOfOthers}
          reason={periodsOfOthers.length === 0 ? undefined : "It has another budget for each period that is grey"}
        />
      ) : (
        <UsdField label={`Budget (USD, ${toPeriodText(budget.budget_period)})`} {...form.field("budget_usd")} />
      )}
      <div className="split">
        <UsdField
          label="Raise it by (USD)"
          placeholder="Not raised"
          {...form.field("raise_usd")}
          hint="Added for a time; empty ends it"
        />
        <TextField label="Through (UTC)" type="date" {...form.field("raise_until")} />
      </div>
    </FormDialog>
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

/** The end of a UTC day, in seconds since 1970. */
function toEndOfDay(day: string): number {
  return Math.floor(Date.parse(`${day}T23:59:59Z`) / 1000);
}

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
                    cell: ({ used_usd }) =>
                      limit === 0 ? "–" : `${Math.min(100, Math.round((Number(used_usd) / limit) * 100))} %`,
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
