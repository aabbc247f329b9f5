import { useId } from "react";
import { Button } from "../../kit/button.tsx";
import { SelectField, TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { toast } from "../../kit/toast.tsx";
import { type CatalogueDocument, useSave, writeFile } from "./api.ts";
import { readVirtual, setVirtual, type VirtualRow, virtualName } from "./virtual-rows.ts";

export const strategies: Readonly<Record<string, string>> = {
  priority: "In this order",
  weight: "Shared by weight",
  cheapest: "Cheapest first",
  fastest: "Fastest first",
};

interface MemberDraft {
  readonly key: number;
  readonly model: string;
  readonly weight: string;
}

/** Changes a virtual model, or adds one when there is no `row`. */
export function VirtualDialog({
  row,
  document,
  modelIds,
  onOpen,
  onClose,
}: {
  row: VirtualRow | undefined;
  document: CatalogueDocument;
  modelIds: readonly string[];
  /** Opens another virtual model in place of this form. */
  onOpen: (row: VirtualRow) => void;
  onClose: () => void;
}) {
  const listId = useId();
  const save = useSave(document);
  const form = useForm(
    { id: row?.id ?? "", strategy: row?.strategy ?? "priority", members: toDrafts(row) },
    async ({ id, strategy, members }) => {
      const changed = { id: id.trim(), models: toMembers(members, strategy), strategy };
      await save(({ files, revision }) => writeFile(virtualName, setVirtual(files, changed.id, changed), revision));
      toast(`${changed.id} saved`);
      onClose();
    },
  );
  const { strategy, members } = form.values;
  const name = form.values.id.trim();
  const present = row === undefined ? readVirtual(document.files).find(({ id }) => id === name) : undefined;
  const setMember = (key: number, change: Partial<MemberDraft>) =>
    form.set({ members: members.map((member) => (member.key === key ? { ...member, ...change } : member)) });
  const nextKey = Math.max(0, ...members.map(({ key }) => key)) + 1;
  return (
    <FormDialog
      title={row?.id ?? "Add virtual model"}
      description="Each call goes to the first of its models that can serve it; the others are tried if it fails."
      form={form}
      isComplete={name !== "" && present === undefined && members.some(({ model }) => model.trim() !== "")}
      onClose={onClose}
    >
      {row === undefined && (
        <TextField
          label="Name"
          autoComplete="off"
          hint="The name that clients send as model"
          {...form.field("id")}
          {...(present !== undefined && { error: `There is a virtual model ${present.id} already` })}
        />
      )}
      {present !== undefined && (
        <div className="row">
          <Button look="small" onClick={() => onOpen(present)}>
            Open {present.id}
          </Button>
        </div>
      )}
      <SelectField label="Strategy" options={Object.entries(strategies)} {...form.field("strategy")} />
      <datalist id={listId}>
        {modelIds.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      {members.map(({ key, model, weight }, index) => (
        <div key={key} className="member">
          <TextField
            label={`Model ${index + 1}`}
            list={listId}
            autoComplete="off"
            value={model}
            onText={(text) => setMember(key, { model: text })}
          />
          {strategy === "weight" && (
            <TextField
              label={`Weight ${index + 1}`}
              inputMode="numeric"
              placeholder="1"
              value={weight}
              onText={(text) => setMember(key, { weight: text })}
            />
          )}
          <Button
            look="plain icon"
            icon="trash"
            aria-label={`Remove ${model || "an empty line"}`}
            disabled={members.length === 1}
            onClick={() => form.set({ members: members.filter((member) => member.key !== key) })}
          />
        </div>
      ))}
      <div className="row">
        <Button
          look="small"
          icon="plus"
          onClick={() => form.set({ members: [...members, { key: nextKey, model: "", weight: "" }] })}
        >
          Add another model
        </Button>
      </div>
    </FormDialog>
  );
}

function toDrafts(row: VirtualRow | undefined): readonly MemberDraft[] {
  return (row?.models ?? [""]).map((member, key) => {
    const { model, weight } = typeof member === "string" ? { model: member, weight: undefined } : member;
    return { key, model, weight: weight === undefined ? "" : String(weight) };
  });
}

/** A weight that is not a number goes as it was typed: the gateway says what it expected. */
function toMembers(members: readonly MemberDraft[], strategy: string): VirtualRow["models"] {
  return members.flatMap(({ model, weight }): VirtualRow["models"] => {
    const name = model.trim();
    if (name === "") return [];
    if (strategy !== "weight" || weight.trim() === "") return [name];
    const value = Number(weight);
    return [{ model: name, weight: Number.isNaN(value) ? (weight as unknown as number) : value }];
  });
}
