import { useState } from "react";
import { type Role, roleNames, useMayAdminister } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { formatCount } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Loaded } from "../../kit/feedback.tsx";
import { FigureField, isFigure, readFigures, toFigureTexts } from "../../kit/figures.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { Section } from "../../kit/page.tsx";
import { actionsColumn, type Column, figureColumn, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { type RoleLimit, setRoleLimits, useRoleLimits } from "./api.ts";

const labels: Readonly<Record<RoleLimit["id"], string>> = {
  ...(Object.fromEntries(roleNames) as Record<Role, string>),
  none: "Teams and programs",
};

/** Limits by role, for accounts without limits of their own. */
export function RoleLimitsSection() {
  const limits = useRoleLimits();
  const { data: me } = useMe();
  const mayAdminister = useMayAdminister();
  const [edited, setEdited] = useState<RoleLimit>();
  const columns: Column<RoleLimit>[] = [
    { name: "Role", className: "lead", cell: ({ role }) => labels[role] },
    toFigure("Requests per minute", "max_requests_per_1_minute"),
    toFigure("Tokens per minute", "max_tokens_per_1_minute"),
    toFigure("Concurrent calls", "max_concurrent_calls"),
    toFigure("Free tokens per day", "free_tokens_per_day"),
  ];
  // Only owners decide about owners.
  const actions = actionsColumn<RoleLimit>(
    (limit) =>
      (limit.id !== "owner" || me?.role === "owner") && (
        <Button
          look="plain small"
          aria-label={`Edit the limits of ${labels[limit.role]}`}
          onClick={() => setEdited(limit)}
        >
          Edit
        </Button>
      ),
  );
  return (
    <Section title="Limits by role">
      <p className="soft card-body">For accounts without their own limits. The default is the gateway’s.</p>
      <Loaded state={limits} lines={5}>
        {(rows) => (
          <Table
            rows={rows}
            rowKey={({ id }) => id}
            columns={mayAdminister ? [...columns, actions] : columns}
            empty=""
          />
        )}
      </Loaded>
      {edited !== undefined && <RoleLimitsDialog limit={edited} onClose={() => setEdited(undefined)} />}
    </Section>
  );
}

type Figure = Exclude<keyof RoleLimit, "id" | "object" | "role">;

const byDefault = <span className="faint">Default</span>;
const toFigure = (name: string, figure: Figure) =>
  figureColumn<RoleLimit>(name, ({ [figure]: limit }) => limit, formatCount, byDefault);

function RoleLimitsDialog({
  limit: { id: _, object: __, role, ...limits },
  onClose,
}: {
  limit: RoleLimit;
  onClose: () => void;
}) {
  const form = useForm(toFigureTexts(limits), async (texts) => {
    await setRoleLimits(role, readFigures(texts));
    toast("The limits are set");
    onClose();
  });
  const { free_tokens_per_day: quota, ...rates } = form.values;
  const isValid = isFigure(quota, 0) && Object.values(rates).every((text) => isFigure(text));
  const field = (name: Figure, label: string) => (
    <FigureField label={label} placeholder="Default" {...form.field(name)} />
  );
  return (
    <FormDialog
      title={`Limits of ${labels[role]}`}
      description="They apply at once to all accounts of the role without their own limits."
      form={form}
      label="Set limits"
      isComplete={isValid}
      onClose={onClose}
    >
      <div className="split">
        {field("max_requests_per_1_minute", "Requests per minute")}
        {field("max_tokens_per_1_minute", "Tokens per minute")}
      </div>
      <div className="split">
        {field("max_concurrent_calls", "Concurrent calls")}
        {field("free_tokens_per_day", "Free tokens per day")}
      </div>
    </FormDialog>
  );
}
