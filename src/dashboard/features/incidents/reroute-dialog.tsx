import { SelectField, TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { toast } from "../../kit/toast.tsx";
import { useModels } from "../models/api.ts";
import { isRetired } from "../models/retirement.ts";
import { createReroute, type Reroute } from "./api.ts";

const durations = [
  ["3600", "1 hour"],
  ["7200", "2 hours"],
  ["14400", "4 hours"],
  ["86400", "24 hours"],
  ["604800", "7 days"],
  ["", "until I end it"],
] as const;

/** The model or provider that is re-routed. */
export interface RerouteSubject {
  readonly subject: Reroute["subject"];
  readonly name: string;
  /** The ids of the models of a provider. */
  readonly models?: readonly string[] | undefined;
}

/** Asks which model answers for a model, or for the models of a provider, and how long. */
export function RerouteDialog({ subject, name, models: own = [], onClose }: RerouteSubject & { onClose: () => void }) {
  const { data: all } = useModels();
  const isModel = subject === "model";
  const form = useForm({ to_model: "", ends_at: "3600" as (typeof durations)[number][0] }, async (values) => {
    const { to_model: to, ends_at: ends } = values;
    const seconds = ends === "" ? null : Number(ends);
    await createReroute({ subject, name, to_model: to === "" ? null : to, ends_in_seconds: seconds });
    toast(`Calls of ${name} are re-routed from now on`);
    onClose();
  });
  const models = all?.data ?? [];
  const isMeant = ({ id, name: shown }: (typeof models)[number]) =>
    isModel ? id === name || shown === name : own.includes(id);
  const capabilities = new Set(models.filter(isMeant).map(({ capability }) => capability));
  const targets = models.filter(
    (model) =>
      model.members === null &&
      !isRetired(model) &&
      !isMeant(model) &&
      (capabilities.size === 0 || capabilities.has(model.capability)),
  );
  return (
    <FormDialog
      title={`Re-route ${name}`}
      description={
        isModel
          ? "Another model answers, without a change by clients. The answer names it, and its price is charged."
          : "Other providers of the same models answer first. Models without one are answered by the model that you choose."
      }
      form={form}
      label="Re-route"
      busyLabel="Re-routing…"
      isComplete={!isModel || form.values.to_model !== ""}
      onClose={onClose}
    >
      <TextField
        label="Answer with"
        placeholder={isModel ? "Name of a model" : "Other providers of the same models only"}
        list="reroute-targets"
        autoComplete="off"
        {...form.field("to_model")}
        hint="What it cannot serve, such as tools or a longer prompt, goes to the requested model as before"
      />
      <datalist id="reroute-targets">
        {targets.map((model) => (
          <option key={model.id} value={model.name} />
        ))}
      </datalist>
      <SelectField
        label="For"
        options={durations}
        value={form.values.ends_at}
        onText={(ends) => form.set({ ends_at: ends })}
        error={form.fieldError("ends_at")}
      />
    </FormDialog>
  );
}
