import { useState } from "react";
import { useAccountKeys } from "../../data/admin.ts";
import { formatCount } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { SelectField } from "../../kit/field.tsx";
import { FigureField, isFigure, readFigures, toFigureTexts } from "../../kit/figures.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { Section } from "../../kit/page.tsx";
import { actionsColumn, type Column, figureColumn, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { getKeyState, type Key, maskKey } from "../keys/api.ts";
import { useModelNames, useModels } from "../models/api.ts";
import { deleteModelLimits, type RateLimit, setModelLimits, useModelLimits } from "./api.ts";

/** The limits of single models that an account and its keys have, for administrators. */
export function AccountModelLimitsSection({ account, mayManage }: { account: string; mayManage: boolean }) {
  const { data: keys } = useAccountKeys(account);
  return (
    <ModelLimitsSection
      scope={{ account, keys: keys?.data ?? [] }}
      mayManage={mayManage}
      emptyText="Calls count against the limits above, and against the model limits for each account."
    />
  );
}

/** The limits of single models for each account, for administrators. */
export function SharedModelLimitsSection({ mayManage }: { mayManage: boolean }) {
  return (
    <ModelLimitsSection
      description="For each account without its own limits for the model."
      mayManage={mayManage}
      emptyText="Accounts may call each model as often as their other limits allow."
    />
  );
}

/** An account and its keys, which limits are for; absent: each account. */
type Scope = { readonly account: string; readonly keys: readonly Key[] } | undefined;

function ModelLimitsSection({
  description,
  scope,
  mayManage,
  emptyText,
}: {
  description?: string;
  scope?: Scope;
  mayManage: boolean;
  emptyText: string;
}) {
  const limits = useModelLimits(scope?.account);
  const nameOfModel = useModelNames();
  const [edited, setEdited] = useState<RateLimit | "new">();
  const [deleted, setDeleted] = useState<RateLimit>();
  const nameOfKey = (id: string) => scope?.keys.find((key) => key.id === id)?.name ?? maskKey(id);
  const toTitle = ({ model, api_key_id: key }: RateLimit) =>
    `${nameOfModel(model)}${key === null ? "" : ` with the API key ${nameOfKey(key)}`}`;
  const remove = async ({ id }: RateLimit) => {
    await deleteModelLimits(scope?.account, id);
    toast("The limits are deleted");
  };
  const withColumn: Column<RateLimit> = {
    name: "With",
    cell: ({ api_key_id: key }) => (key === null ? "All API keys" : nameOfKey(key)),
  };
  const columns: Column<RateLimit>[] = [
    {
      name: "Model",
      className: "lead",
      cell: ({ model }) => nameOfModel(model),
      sort: ({ model }) => nameOfModel(model),
    },
    ...(scope === undefined ? [] : [withColumn]),
    toFigure("Requests per minute", ({ max_requests_per_1_minute: limit }) => limit),
    toFigure("Tokens per minute", ({ max_tokens_per_1_minute: limit }) => limit),
    toFigure("Concurrent calls", ({ max_concurrent_calls: limit }) => limit),
  ];
  const actions = actionsColumn<RateLimit>((limit) => (
    <>
      <Button look="plain small" aria-label={`Edit ${toTitle(limit)}`} onClick={() => setEdited(limit)}>
        Edit
      </Button>
      <Button look="plain small bad" aria-label={`Delete ${toTitle(limit)}`} onClick={() => setDeleted(limit)}>
        Delete
      </Button>
    </>
  ));
  return (
    <Section
      title="Limits of models"
      actions={
        mayManage && (
          <Button look="small" icon="plus" onClick={() => setEdited("new")}>
            Limit a model
          </Button>
        )
      }
    >
      {description !== undefined && <p className="soft card-body">{description}</p>}
      <Loaded state={limits} lines={2}>
        {(rows) => (
          <Table
            rows={rows}
            rowKey={({ id }) => id}
            columns={mayManage ? [...columns, actions] : columns}
            sortName="limits"
            empty={
              <Empty icon="models" title="No limits of models">
                <p>{emptyText}</p>
              </Empty>
            }
          />
        )}
      </Loaded>
      {edited !== undefined && (
        <LimitDialog scope={scope} limit={edited === "new" ? undefined : edited} onClose={() => setEdited(undefined)} />
      )}
      {deleted !== undefined && (
        <Confirm
          title="Delete these limits?"
          action="Delete limits"
          act={() => remove(deleted)}
          onClose={() => setDeleted(undefined)}
        >
          <p>
            Calls of <strong>{toTitle(deleted)}</strong> then count against the other limits alone.
          </p>
        </Confirm>
      )}
    </Section>
  );
}

const noLimit = <span className="faint">No limit</span>;
const toFigure = (name: string, read: (limit: RateLimit) => number | null) =>
  figureColumn(name, read, formatCount, noLimit);

/** Adds limits for a model, or changes existing ones. */
function LimitDialog({
  scope,
  limit,
  onClose,
}: {
  scope: Scope;
  /** Absent: of a model that is chosen. */
  limit: RateLimit | undefined;
  onClose: () => void;
}) {
  const initial = {
    model: limit?.model ?? "",
    api_key_id: limit?.api_key_id ?? "",
    ...toFigureTexts({
      max_requests_per_1_minute: limit?.max_requests_per_1_minute ?? null,
      max_tokens_per_1_minute: limit?.max_tokens_per_1_minute ?? null,
      max_concurrent_calls: limit?.max_concurrent_calls ?? null,
    }),
  };
  const form = useForm(initial, async ({ model, api_key_id, ...figures }) => {
    await setModelLimits(scope?.account, {
      model,
      api_key_id: api_key_id === "" ? null : api_key_id,
      ...readFigures(figures),
    });
    toast("The limits are set");
    onClose();
  });
  const { data: models } = useModels();
  const nameOfModel = useModelNames();
  const { model, api_key_id: _, ...figures } = form.values;
  const texts = Object.values(figures);
  const isValid = texts.every((text) => isFigure(text)) && texts.some((text) => text.trim() !== "");
  const usableKeys = (scope?.keys ?? []).filter((key) => getKeyState(key) === "active");
  const choices = (models?.data ?? []).map(({ id, name }) => [id, name] as const);
  const field = (name: keyof typeof figures, label: string) => (
    <FigureField label={label} placeholder="No limit" {...form.field(name)} />
  );
  return (
    <FormDialog
      title={limit === undefined ? "Limit a model" : `Limits of ${nameOfModel(limit.model)}`}
      description="Calls beyond its limits are refused, or go on to the next model of a virtual model."
      form={form}
      label="Set limits"
      isComplete={model !== "" && isValid}
      onClose={onClose}
    >
      {limit === undefined && (
        <>
          <SelectField label="Model" options={[["", "Choose…"], ...choices]} {...form.field("model")} />
          {scope !== undefined && (
            <SelectField
              label="With"
              options={[["", "All API keys"], ...usableKeys.map(({ id, name }) => [id, name] as const)]}
              {...form.field("api_key_id")}
            />
          )}
        </>
      )}
      {field("max_requests_per_1_minute", "Requests per minute")}
      <div className="split">
        {field("max_tokens_per_1_minute", "Tokens per minute")}
        {field("max_concurrent_calls", "Concurrent calls")}
      </div>
    </FormDialog>
  );
}
