import { useState } from "react";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { SelectField, TextField } from "../../kit/field.tsx";
import { Submit, useForm } from "../../kit/form.tsx";
import { toast } from "../../kit/toast.tsx";
import { capabilityChoices } from "../models/api.ts";
import { type CatalogueDocument, type CatalogueModel, useSave, writeRow } from "./api.ts";
import { LayersSection } from "./layers-section.tsx";
import { PriceFields } from "./price-fields.tsx";
import { type RowDraft, toDraft, toRow, toUnder } from "./row-draft.ts";
import { RowFields } from "./row-fields.tsx";

/** Changes a model, or adds one when there is no `model`. */
export function ModelDialog({
  model,
  document,
  models,
  plugins,
  onOpen,
  onClose,
}: {
  model: CatalogueModel | undefined;
  /** The files that the form shows. */
  document: CatalogueDocument;
  /** All models: a new one has another name. */
  models: readonly CatalogueModel[];
  plugins: readonly string[];
  /** Opens another model in place of this form. */
  onOpen: (model: CatalogueModel) => void;
  onClose: () => void;
}) {
  const save = useSave(document);
  const [isResetting, setResetting] = useState(false);
  const under = model === undefined ? {} : toUnder(model);
  const initial =
    model === undefined
      ? { ...toDraft(plugins[0] ?? "", "", {}, null), checkedOn: new Date().toISOString().slice(0, 10) }
      : toDraft(model.plugin, model.model, model.row, model.own);
  const write = async (draft: RowDraft, row: ReturnType<typeof toRow>) => {
    const isChange = row !== undefined || (model !== undefined && model.own !== null);
    if (!isChange) return;
    // A change that somebody else has just made is not removed unseen.
    if (row === undefined) await writeRow(draft.plugin, draft.id, row, document.revision);
    else await save(({ revision }) => writeRow(draft.plugin, draft.id, row, revision));
  };
  const form = useForm(initial, async (values) => {
    const draft = { ...values, id: values.id.trim() };
    await write(draft, toRow(draft, under, model?.row.price));
    toast(`${model?.name ?? draft.id} saved`);
    onClose();
  });
  const reset = (field: string) => {
    const { [field]: _, ...rest } = form.values.rest;
    const fresh = toDraft(initial.plugin, initial.id, under, null);
    const fields = field === "price" ? (["rates", "markupPercent"] as const) : [field as keyof RowDraft];
    const change = Object.fromEntries(fields.flatMap((name) => (name in fresh ? [[name, fresh[name]]] : [])));
    form.set({ ...change, rest });
  };
  const present = model === undefined ? findModel(models, form.values) : undefined;
  const isOwnModel = model?.base === null && model.signed === null;
  if (isResetting && model !== undefined) {
    return (
      <Confirm
        title={isOwnModel ? `Remove ${model.name}?` : `Reset ${model.name}?`}
        action={isOwnModel ? "Remove model" : "Reset model"}
        act={async () => {
          await write(initial, undefined);
          toast(isOwnModel ? `${model.name} is removed` : `${model.name} has its provider's values again`);
        }}
        onClose={onClose}
      >
        {isOwnModel ? "Calls of this model will be refused." : "All your changes to this model are removed."}
      </Confirm>
    );
  }
  return (
    <Dialog
      title={model?.name ?? "Add model"}
      description={
        model === undefined ? "A provider's model under a name that you choose." : `Model of ${model.plugin}`
      }
      isWide
      onClose={onClose}
    >
      <form onSubmit={form.submit} noValidate>
        <div className="dialog-body">
          <Callout tone="bad">{form.error}</Callout>
          {model !== undefined && <LayersSection model={model} onReset={reset} />}
          {model === undefined && (
            <div className="field-grid">
              <SelectField
                label="Provider"
                options={plugins.map((name) => [name, name] as const)}
                {...form.field("plugin")}
              />
              <TextField
                label="Model ID"
                autoComplete="off"
                hint="The name that clients send as model"
                {...form.field("id")}
                {...(present !== undefined && { error: `${present.plugin} has the model ${present.name} already` })}
              />
              <SelectField
                label="Capability"
                options={capabilityChoices}
                value={form.values.capability}
                onText={(capability) => form.set({ capability })}
              />
            </div>
          )}
          {present !== undefined && (
            <div className="row">
              <Button look="small" onClick={() => onOpen(present)}>
                Open {present.name} of {present.plugin}
              </Button>
            </div>
          )}
          <PriceFields draft={form.values} hidden={model?.row.price} onChange={form.set} />
          <RowFields form={form} />
        </div>
        <footer className="dialog-foot">
          {model !== undefined && model.own !== null && (
            <Button look="plain bad" onClick={() => setResetting(true)}>
              {isOwnModel ? "Remove model…" : "Reset all…"}
            </Button>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <Submit
            form={form}
            label="Save"
            busyLabel="Saving…"
            isComplete={form.values.id.trim() !== "" && present === undefined}
          />
        </footer>
      </form>
    </Dialog>
  );
}

/** The model of a provider that has a name already. */
function findModel(
  models: readonly CatalogueModel[],
  { plugin, id }: Pick<RowDraft, "plugin" | "id">,
): CatalogueModel | undefined {
  const name = id.trim();
  return models.find(
    (one) => one.plugin === plugin && [one.model, one.name, ...(one.row.aliases ?? [])].includes(name),
  );
}
