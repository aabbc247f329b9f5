import { type AccountDetail, refreshAccounts } from "../../data/admin.ts";
import { organization, request } from "../../data/api.ts";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { Section } from "../../kit/page.tsx";
import { toast } from "../../kit/toast.tsx";
import { useCatalogue, useCatalogueDocument } from "../catalogue/api.ts";
import { readVirtual } from "../catalogue/virtual-rows.ts";
import { type ModelChoice, ModelPicker } from "../keys/model-picker.tsx";
import { useModelNames } from "../models/api.ts";

/** The models that an account may use with all of its keys. */
export function ModelsSection({ account, mayManage }: { account: AccountDetail; mayManage: boolean }) {
  const { allowed_models: allowed } = account;
  return (
    <Section title="Models">
      {mayManage ? (
        <ModelsForm key={allowed?.join("\n") ?? ""} account={account} />
      ) : (
        <p className="card-body break">{allowed === null ? "All models" : allowed.join(", ")}</p>
      )}
    </Section>
  );
}

function ModelsForm({ account: { id, label, allowed_models: before } }: { account: AccountDetail }) {
  const choices = useModelChoices();
  const initial: { allowed_models: readonly string[] | undefined } = { allowed_models: before ?? undefined };
  const form = useForm(initial, async ({ allowed_models: models }) => {
    const changes = { allowed_models: models === undefined ? null : [...models] };
    await request(organization.projects({ project_id: id }).post(changes));
    await refreshAccounts();
    const count = models === undefined ? "all models" : models.length === 1 ? "1 model" : `${models.length} models`;
    toast(`${label} may use ${count}`);
  });
  const { allowed_models: chosen } = form.values;
  const isChanged = chosen?.toSorted().join("\n") !== before?.toSorted().join("\n");
  return (
    <Form form={form} className="stack card-body">
      <ModelPicker
        label="Models that the keys of the account may use"
        models={choices}
        selected={chosen}
        onSelect={(allowed_models) => form.set({ allowed_models })}
        error={form.fieldError("allowed_models")}
      />
      <div className="row">
        <Submit form={form} label="Set models" look="" isComplete={isChanged && chosen?.length !== 0} />
      </div>
    </Form>
  );
}

/** All models of the gateway, whichever the account of the administrator may use, and the virtual ones. */
function useModelChoices(): readonly ModelChoice[] | undefined {
  const catalogue = useCatalogue().data;
  const document = useCatalogueDocument().data;
  const nameOf = useModelNames();
  if (catalogue === undefined) return undefined;
  const models = catalogue.data.map(
    ({ model: id, row: { capability } }) => [id, { id, name: nameOf(id), ...(capability && { capability }) }] as const,
  );
  const virtual = document === undefined ? [] : readVirtual(document.files).map(({ id }) => [id, { id }] as const);
  return [...new Map<string, ModelChoice>([...virtual, ...models]).values()];
}
