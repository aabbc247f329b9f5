import { Link } from "wouter";
import { formatUsd } from "../../format.ts";
import { Dialog, DialogContent } from "../../kit/dialog.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
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
import { type ToName, toLimit, toPeriodText } from "./budget-columns.tsx";
import { BudgetFields } from "./budget-fields.tsx";

const subjects: readonly (readonly [BudgetSubject, string])[] = [
  ["end_user", "End users"],
  ["tag", "Tags"],
  ["session", "Sessions"],
  ["model", "Models"],
  ["key", "API keys"],
  ["account", "The whole account"],
];

/** Subjects of the budgets of the gateway, over each account by itself. */
const gatewaySubjects: typeof subjects = [
  ["account", "Each account"],
  ["team", "Each team"],
  ...subjects.filter(([subject]) => subject !== "account"),
];

const periods: readonly (readonly [BudgetPeriod, string])[] = [
  ["day", "a day"],
  ["week", "a week"],
  ["month", "a month"],
  ["lifetime", "in all"],
];
const sessionPeriods: typeof periods = [["session", "until silent for a day"]];
const calendarPeriods = periods.filter(([period]) => period !== "lifetime");

const nameHints: Partial<Record<BudgetSubject, string>> = {
  end_user: "As requests name them, such as in the field safety_identifier",
  tag: "As requests name it",
  session: "As requests name it",
};

const newBudget = {
  subject: "end_user" as BudgetSubject,
  whose: "each" as "each" | "one",
  name: "",
  api_key_id: "",
  budget_usd: "",
  budget_period: "day" as BudgetPeriod,
};

/** Creates a budget. What it counts cannot be changed later. */
export function NewBudgetDialog({
  account,
  keys,
  onClose,
}: {
  account: string;
  /** The usable keys of the account. */
  keys: readonly Key[];
  onClose: () => void;
}) {
  const form = useForm(newBudget, async ({ subject, whose, name, api_key_id, budget_usd, budget_period }) => {
    const isOne = subject !== "account" && subject !== "team" && whose === "one";
    await createBudget(account, {
      subject,
      name: isOne ? name.trim() : null,
      api_key_id: subject === "account" || subject === "key" || api_key_id === "" ? null : api_key_id,
      budget_usd: budget_usd.trim(),
      budget_period,
    });
    toast("The budget is set");
    onClose();
  });
  const { data: models } = useModels();
  const { subject, whose, name, budget_usd } = form.values;
  const isOfGateway = account === eachAccount;
  const isOfAccount = subject === "account" || subject === "team";
  const isOne = !isOfAccount && whose === "one";
  const keyOptions = keys.map(({ id, name: label }) => [id, label] as const);
  const choices =
    subject === "key" ? keyOptions : (models?.data ?? []).map(({ id, name: label }) => [id, label] as const);
  return (
    <FormDialog
      title="New budget"
      description="Calls that would cost more than the rest of the budget are refused."
      form={form}
      label="Create budget"
      busyLabel="Creating…"
      isComplete={budget_usd.trim() !== "" && !(isOne && name.trim() === "")}
      onClose={onClose}
    >
      <SelectField
        label="Counts the calls of"
        options={isOfGateway ? gatewaySubjects : subjects}
        value={subject}
        onText={(chosen) => {
          const isSession = chosen === "session";
          const wasSession = form.values.budget_period === "session";
          form.set({
            subject: chosen,
            name: "",
            ...(isSession && { budget_period: "session" as const }),
            ...(!isSession && wasSession && { budget_period: "day" as const }),
          });
        }}
        error={form.fieldError("subject")}
      />
      {!isOfAccount && !(isOfGateway && subject === "key") && (
        <SelectField
          label="Whose"
          options={[
            ["each", "Each by itself"],
            ["one", "One of them"],
          ]}
          value={whose}
          onText={(chosen) => form.set({ whose: chosen, name: "" })}
          hint={whose === "each" ? "Names with their own budget are not included" : undefined}
        />
      )}
      {isOne && (subject === "key" || subject === "model") && (
        <SelectField label="Name" options={[["", "Choose…"], ...choices]} {...form.field("name")} />
      )}
      {isOne && subject !== "key" && subject !== "model" && (
        <TextField label="Name" autoComplete="off" {...form.field("name")} hint={nameHints[subject]} />
      )}
      {!isOfGateway && !isOfAccount && subject !== "key" && (
        <SelectField label="With" options={[["", "All API keys"], ...keyOptions]} {...form.field("api_key_id")} />
      )}
      <BudgetFields form={form} periods={subject === "session" ? sessionPeriods : periods} />
    </FormDialog>
  );
}

/** Changes the amount and the period of a budget, and raises it for a time. */
export function EditBudgetDialog({
  account,
  budget,
  title,
  onClose,
}: {
  account: string;
  budget: Budget;
  /** The owner of the budget, in words. */
  title: string;
  onClose: () => void;
}) {
  const { raise_usd, raise_until } = budget;
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
        <BudgetFields form={form} periods={calendarPeriods} />
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
