import { useState } from "react";
import { type Role, roleNames, useMayAdminister } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { formatCount } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Loaded } from "../../kit/feedback.tsx";
import { TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { Section } from "../../kit/page.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { type RoleLimit, setRoleLimits, useRoleLimits } from "./api.ts";

const labels: Readonly<Record<RoleLimit["id"], string>> = {
  ...(Object.fromEntries(roleNames) as Record<Role, string>),
  none: "Teams and programs",
};

/** The limits that accounts have by their role, where they have none of their own. */
export function RoleLimitsSection() {
  const limits = useRoleLimits();
  const { data: me } = useMe();
  const mayAdminister = useMayAdminister();
  const [edited, setEdited] = useState<RoleLimit>();
  const columns: Column<RoleLimit>[] = [
    { name: "Role", className: "lead", cell: ({ id }) => labels[id] },
    toFigure("Requests per minute", "max_requests_per_1_minute"),
    toFigure("Tokens per minute", "max_tokens_per_1_minute"),
    toFigure("Concurrent calls", "max_concurrent_calls"),
    toFigure("Free tokens per day", "free_tokens_per_day"),
  ];
  const actions: Column<RoleLimit> = {
    name: "Actions",
    className: "actions tight end",
    isUnnamed: true,
    // Only owners decide about owners.
    cell: (limit) =>
      (limit.id !== "owner" || me?.role === "owner") && (
        <Button
          look="plain small"
          aria-label={`Edit the limits of ${labels[limit.id]}`}
          onClick={() => setEdited(limit)}
        >
          Edit
        </Button>
      ),
  };
  return (
    <Section title="Limits by role">
      <p className="soft card-body">For accounts that have no limits of their own. The default is the gateway’s.</p>
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

type Figure = Exclude<keyof RoleLimit, "id" | "object">;

function toFigure(name: string, figure: Figure): Column<RoleLimit> {
  return {
    name,
    className: "end",
    cell: ({ [figure]: limit }) => (limit === null ? <span className="faint">Default</span> : formatCount(limit)),
  };
}

function RoleLimitsDialog({ limit: { id, object: _, ...limits }, onClose }: { limit: RoleLimit; onClose: () => void }) {
  const toText = (figure: number | null) => String(figure ?? "");
  const initial = {
    max_requests_per_1_minute: toText(limits.max_requests_per_1_minute),
    max_tokens_per_1_minute: toText(limits.max_tokens_per_1_minute),
    max_concurrent_calls: toText(limits.max_concurrent_calls),
    free_tokens_per_day: toText(limits.free_tokens_per_day),
  };
  const form = useForm(initial, async (texts) => {
    const read = (text: string) => (text.trim() === "" ? null : Number(text));
    await setRoleLimits(id, {
      max_requests_per_1_minute: read(texts.max_requests_per_1_minute),
      max_tokens_per_1_minute: read(texts.max_tokens_per_1_minute),
      max_concurrent_calls: read(texts.max_concurrent_calls),
      free_tokens_per_day: read(texts.free_tokens_per_day),
    });
    toast("The limits are set");
    onClose();
  });
  const { free_tokens_per_day: quota, ...rates } = form.values;
  const isValid =
    /^\d{0,15}$/.test(quota.trim()) && Object.values(rates).every((text) => /^([1-9]\d{0,14})?$/.test(text.trim()));
  const field = (name: Figure, label: string) => (
    <TextField label={label} inputMode="numeric" autoComplete="off" placeholder="Default" {...form.field(name)} />
  );
  return (
    <FormDialog
      title={`Limits of ${labels[id]}`}
      description="They apply at once to all accounts of the role that have none of their own."
      form={form}
      label="Set limits"
      busyLabel="Saving…"
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
