/** Sections that are made from declarations: a table of entries, and a form. */
import { Fragment, type ReactNode, useState } from "react";
import { useMe } from "../../data/session.ts";
import { formatCount, formatDay, formatUsd } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Section } from "../../kit/page.tsx";
import { actionsColumn, type Column, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { type Entry, type Field, type Owner, type Resource, removeEntry, useEntries, useResources } from "./api.ts";
import { capitalize, ResourceDialog, useSources } from "./form.tsx";

interface Place {
  /** The account whose things are shown; absent: the gateway. */
  account?: Owner;
  mayManage: boolean;
}

/** The sections of all things that have no page of their own. `page`: the page of the gateway on which they are. */
export function ResourceSections({ page, ...place }: Place & { page?: NonNullable<Resource["section"]>["page"] }) {
  const resources = useResources().data?.data ?? [];
  return resources.map((resource) => {
    const { name, section, paths } = resource;
    const isHere = place.account === undefined ? section?.page === page && paths.gateway : paths.project;
    if (section === null || !isHere) return <Fragment key={name} />;
    return <ResourceSection key={name} resource={resource} texts={section} {...place} />;
  });
}

function ResourceSection({
  resource,
  texts,
  account,
  mayManage,
}: Place & { resource: Resource; texts: NonNullable<Resource["section"]> }) {
  const entries = useEntries(resource, account);
  const { data: me } = useMe();
  const { nameOf } = useSources(account);
  const [edited, setEdited] = useState<Entry | "new">();
  const [removed, setRemoved] = useState<Entry>();
  const { fields, identity, verbs } = resource;
  const has = (verb: (typeof verbs)[number]) => mayManage && verbs.includes(verb);
  const toCell = (field: Field, value: unknown): string => {
    if (value === null || value === undefined) return field.empty ?? texts.none;
    if (field.from !== null) return nameOf(field.from, String(value));
    if (field.kind === "day") return formatDay(new Date(Number(value) * 1000).toISOString());
    if (field.kind === "usd") return formatUsd(String(value));
    if (field.kind === "check") return value === false ? "no" : "yes";
    if (typeof value === "number") return formatCount(value);
    return field.choices.find(([choice]) => choice === value)?.[1] ?? String(value);
  };
  /** "GPT-4.1 with app" */
  const nameOfEntry = (entry: Entry) =>
    fields
      .filter(({ name }) => identity.includes(name) && entry[name] !== null)
      .map((field, place) => (place === 0 ? "" : `${field.label.toLowerCase()} `) + toCell(field, entry[field.name]))
      .join(" ");
  const toTitle = (entry: Entry) => texts.entry.replace("{}", nameOfEntry(entry));
  const isChangeable = (entry: Entry) =>
    me?.role === "owner" || !Object.entries(texts.ofOwners).some(([name, value]) => entry[name] === value);
  const columns = fields
    .filter(({ from }) => from !== "keys" || account !== undefined)
    .map((field, place): Column<Entry> => {
      const isFigure = field.kind === "figure" || field.kind === "usd";
      return {
        name: field.label,
        className: place === 0 ? "lead" : isFigure ? "end" : "",
        cell: (entry) => {
          const text = toCell(field, entry[field.name]);
          return isFigure && entry[field.name] === null ? <span className="faint">{text}</span> : text;
        },
        sort: (entry) => (isFigure ? (entry[field.name] as number | null) : toCell(field, entry[field.name])),
      };
    });
  const actions = actionsColumn<Entry>(
    (entry) =>
      isChangeable(entry) && (
        <>
          {has("change") && (
            <Button look="plain small" aria-label={`Edit ${toTitle(entry)}`} onClick={() => setEdited(entry)}>
              Edit
            </Button>
          )}
          {has("remove") && (
            <Button look="plain small bad" aria-label={`Delete ${toTitle(entry)}`} onClick={() => setRemoved(entry)}>
              Delete
            </Button>
          )}
        </>
      ),
  );
  const whatHolds = account === undefined ? texts.emptyOfGateway : texts.emptyOfAccount;
  const [question, button, consequence, done] = texts.removal;
  const remove = async ({ id }: Entry) => {
    await removeEntry(resource, account, id);
    toast(done);
  };
  return (
    <Section
      title={texts.title}
      actions={
        has("create") && (
          <Button look="small" icon="plus" onClick={() => setEdited("new")}>
            {texts.add}
          </Button>
        )
      }
    >
      {account === undefined && texts.about !== "" && <p className="soft card-body">{texts.about}</p>}
      <Loaded state={entries} lines={2}>
        {(rows) => (
          <Table
            rows={rows}
            rowKey={({ id }) => id}
            columns={has("change") || has("remove") ? [...columns, actions] : columns}
            sortName={resource.name}
            empty={
              <Empty icon="settings" title={texts.empty}>
                {whatHolds !== "" && <p>{whatHolds}</p>}
              </Empty>
            }
          />
        )}
      </Loaded>
      {edited !== undefined && (
        <ResourceDialog
          name={resource.name}
          title={edited === "new" ? texts.add : capitalize(toTitle(edited).replace(/^the /, ""))}
          description={texts.form === "" ? undefined : texts.form}
          account={account}
          entry={edited === "new" ? undefined : edited}
          none={texts.none}
          label={texts.submit}
          saved={texts.saved}
          onClose={() => setEdited(undefined)}
        />
      )}
      {removed !== undefined && (
        <Confirm title={question} action={button} act={() => remove(removed)} onClose={() => setRemoved(undefined)}>
          <p>{withBold(consequence, nameOfEntry(removed))}</p>
        </Confirm>
      )}
    </Section>
  );
}

/** A sentence with a name in place of `{}`. */
function withBold(sentence: string, name: string): ReactNode {
  const [before, after] = sentence.split("{}");
  return (
    <>
      {before}
      <strong>{name}</strong>
      {after}
    </>
  );
}
