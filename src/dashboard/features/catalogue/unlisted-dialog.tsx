import { SelectField, TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { toast } from "../../kit/toast.tsx";
import { capabilityChoices } from "../models/api.ts";
import { type CatalogueDocument, type Terms, useSave, writeTerms } from "./api.ts";
import { PriceFields } from "./price-fields.tsx";
import { toDraft, toTerms } from "./row-draft.ts";
import { billings } from "./row-fields.tsx";

/** Changes the terms of a provider's unlisted models, or adds some when there are no `terms`. */
export function UnlistedDialog({
  plugin,
  terms,
  plugins,
  document,
  onClose,
}: {
  plugin: string;
  terms: Terms | undefined;
  /** Providers to choose from. */
  plugins: readonly string[];
  /** The files that the form shows. */
  document: CatalogueDocument;
  onClose: () => void;
}) {
  const save = useSave(document);
  const form = useForm(toDraft(plugin, "", terms ?? {}, null), async (draft) => {
    await save(({ revision }) => writeTerms(draft.plugin, toTerms(draft, terms?.price), revision));
    toast(`Unlisted models of ${draft.plugin} are charged at these prices`);
    onClose();
  });
  const { values, set, field } = form;
  return (
    <FormDialog
      title={terms === undefined ? "Sell unlisted models" : `Unlisted models of ${plugin}`}
      description="The provider's models are listed now and every hour. Models without an entry are charged at this price, so make it cover the most expensive one; 0 for models that cost nothing."
      form={form}
      busyLabel="Asking the provider…"
      isComplete={values.plugin !== ""}
      isWide
      onClose={onClose}
    >
      <div className="field-grid">
        {terms === undefined && (
          <SelectField label="Provider" options={plugins.map((name) => [name, name] as const)} {...field("plugin")} />
        )}
        <SelectField
          label="Capability"
          options={capabilityChoices}
          value={values.capability}
          onText={(capability) => set({ capability })}
        />
        <SelectField
          label="Billing"
          options={billings}
          value={values.premium ? "wallet" : "free"}
          onText={(billing) => set({ premium: billing === "wallet" })}
        />
        <TextField label="Context window (tokens)" inputMode="numeric" {...field("contextTokens")} />
        <TextField label="Max output (tokens)" inputMode="numeric" {...field("outputTokensMax")} />
      </div>
      <PriceFields draft={values} hidden={terms?.price} onChange={set} />
    </FormDialog>
  );
}
