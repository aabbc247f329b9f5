import { toNextMoment, useZoneName } from "../../data/time-zone.ts";
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
  ["time", "until a time…"],
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
  const zone = useZoneName();
  const first = { to_model: "", lasts: "3600" as (typeof durations)[number][0], day: "", time: "" };
  const form = useForm(first, async ({ to_model: to, lasts, day, time }) => {
    const end =
      lasts === "time"
        ? toNextMoment(day, time)
        : lasts === ""
          ? undefined
          : Math.floor(Date.now() / 1000) + Number(lasts);
    await createReroute({ subject, name, to_model: to === "" ? null : to, ...(end !== undefined && { ends_at: end }) });
    toast(`Calls of ${name} are re-routed from now on`);
    onClose();
  });
  const { lasts } = form.values;
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
      isComplete={(!isModel || form.values.to_model !== "") && (lasts !== "time" || form.values.time !== "")}
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
        value={lasts}
        onText={(next) => form.set({ lasts: next })}
        error={lasts === "time" ? undefined : form.fieldError("ends_at")}
      />
      {lasts === "time" && (
        <div className="field-grid">
          <TextField label={`Until (${zone})`} type="time" {...form.field("time")} error={form.fieldError("ends_at")} />
          <TextField label="On" type="date" hint="Empty: the next time that it is so late" {...form.field("day")} />
        </div>
      )}
    </FormDialog>
  );
}
