import { useId, useState } from "react";
import { Link } from "wouter";
import { useAccounts } from "../../data/admin.ts";
import { type Role, roleNames, toRoleName, useMayAdminister } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Callout, Empty, Loaded } from "../../kit/feedback.tsx";
import { Check, SelectField, TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { PageHead, Section } from "../../kit/page.tsx";
import { actionsColumn, type Column, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { teamRoles } from "../team/api.ts";
import { addGroupRole, changeGroupRole, type GroupRole, removeGroupRole, useGroups } from "./api.ts";

/** The roles that groups of the identity provider give, for administrators. */
export default function GroupsPage() {
  const groups = useGroups();
  const mayAdminister = useMayAdminister();
  const { data: me } = useMe();
  const isOwner = me?.role === "owner";
  const [edited, setEdited] = useState<GroupRole | "new">();
  const [removed, setRemoved] = useState<GroupRole>();
  const close = () => setEdited(undefined);
  // Only owners decide about owners.
  const actions = actionsColumn<GroupRole>((row) => {
    if (row.team === null && row.role === "owner" && !isOwner) return null;
    return (
      <>
        <Button look="plain small" aria-label={`Change ${toTitle(row)}`} onClick={() => setEdited(row)}>
          Change
        </Button>
        <Button look="plain small bad" aria-label={`Remove ${toTitle(row)}`} onClick={() => setRemoved(row)}>
          Remove
        </Button>
      </>
    );
  });
  const remove = async (row: GroupRole) => {
    await removeGroupRole(row);
    toast("The group gives this role no longer");
  };
  return (
    <>
      <PageHead
        title="Groups"
        description="Your identity provider pushes groups of people by SCIM; each group can give its people a role in a team or in the gateway."
      >
        <Link className="btn" href="/help/accounts#users-from-your-identity-provider-scim">
          How to set it up
        </Link>
        {mayAdminister && (
          <Button look="primary" icon="plus" onClick={() => setEdited("new")}>
            Add a group
          </Button>
        )}
      </PageHead>
      <Loaded state={groups} lines={5}>
        {({ data, unused }) => (
          <div className="stack">
            <Section title="Roles of groups">
              <Table
                rows={data}
                rowKey={({ id }) => id}
                columns={mayAdminister ? [...columns, actions] : columns}
                sortName="groups"
                fileName="groups"
                empty={
                  <Empty icon="accounts" title="No group gives a role">
                    <p>Who joins a group of this table gets its role at once, and who leaves it loses it.</p>
                  </Empty>
                }
              />
            </Section>
            {unused.length > 0 && (
              <Section title="Pushed groups without a role">
                <p className="card-body soft break">
                  {unused.map(({ name, members }) => `${name} (${toPeople(members)})`).join(", ")}
                </p>
              </Section>
            )}
            {edited !== undefined && (
              <GroupDialog
                row={edited === "new" ? undefined : edited}
                names={unused.map(({ name }) => name)}
                isOwner={isOwner}
                onClose={close}
              />
            )}
          </div>
        )}
      </Loaded>
      {removed !== undefined && (
        <Confirm
          title="Remove this row?"
          action="Remove"
          act={() => remove(removed)}
          onClose={() => setRemoved(undefined)}
        >
          <p>
            The people of <strong>{removed.group}</strong>{" "}
            {removed.team === null
              ? "lose this role in the gateway, unless another group gives it."
              : `leave the team ${removed.team.label}, unless another group is in it. Keys that they made stay.`}
          </p>
        </Confirm>
      )}
    </>
  );
}

function toTitle({ group, team }: GroupRole): string {
  return `${group} in ${team === null ? "the gateway" : team.label}`;
}

function toPeople(count: number): string {
  return count === 1 ? "1 person" : `${count} people`;
}

function toShownRole({ team, role }: GroupRole): string {
  return team === null ? toRoleName(role) : (teamRoles.find(([name]) => name === role)?.[1] ?? role);
}

const columns: readonly Column<GroupRole>[] = [
  {
    name: "Group",
    className: "name lead",
    sort: ({ group }) => group.toLowerCase(),
    cell: ({ group, members }) => (
      <>
        <span className="break">{group}</span>
        <span className="sub">{members === null ? "not pushed yet" : toPeople(members)}</span>
      </>
    ),
  },
  {
    name: "Team",
    sort: ({ team }) => team?.label ?? "",
    cell: ({ team }) =>
      team === null ? (
        "The gateway"
      ) : (
        <Link className="link cut" href={`/admin/accounts/${team.id}?tab=account`}>
          {team.label}
        </Link>
      ),
  },
  { name: "Role", sort: toShownRole, cell: (row) => <span className="badge">{toShownRole(row)}</span> },
  {
    name: "Keys of people who leave",
    className: "soft",
    cell: ({ team, leavers_keys: keys }) => (team === null ? "–" : keys === "keep" ? "stay" : "are revoked"),
  },
];

function GroupDialog({
  row,
  names,
  isOwner,
  onClose,
}: {
  /** Absent: a new one. */
  row: GroupRole | undefined;
  /** Groups that were pushed and give no role. */
  names: readonly string[];
  isOwner: boolean;
  onClose: () => void;
}) {
  const list = useId();
  const [search, setSearch] = useState("");
  const teams = useAccounts({ search: search.trim(), order: "email", kind: "team" });
  const initial = {
    group: row?.group ?? "",
    team: row?.team?.id ?? inGateway,
    role: (row?.role ?? "viewer") as Role,
    keeps: row?.leavers_keys === "keep",
  };
  const form = useForm(initial, async ({ group, team, role, keeps }) => {
    const fields = { role, leavers_keys: keeps && team !== inGateway ? ("keep" as const) : null };
    if (row === undefined) {
      await addGroupRole(team === inGateway ? null : team, { ...fields, group: group.trim() });
    } else await changeGroupRole(row, fields);
    toast(`The people of ${group.trim()} have the role`);
    onClose();
  });
  const { team, role, keeps, group } = form.values;
  const isOfGateway = team === inGateway;
  const options: readonly (readonly [Role, string])[] = isOfGateway ? roleNames : teamRoles;
  return (
    <FormDialog
      title={row === undefined ? "Add a group" : `Change ${toTitle(row)}`}
      description="People who are in the group get the role at once."
      form={form}
      label={row === undefined ? "Add group" : "Save"}
      isComplete={group.trim() !== ""}
      onClose={onClose}
    >
      {row === undefined && (
        <>
          <TextField
            label="Group"
            autoComplete="off"
            maxLength={200}
            list={list}
            hint="As the identity provider names it, whatever the case"
            {...form.field("group")}
          />
          <datalist id={list}>
            {names.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          {(teams.data?.has_more === true || search !== "") && (
            <TextField label="Find a team" autoComplete="off" value={search} onText={setSearch} />
          )}
          <SelectField
            label="Role in"
            options={[
              [inGateway, "The gateway"],
              ...(teams.data?.data ?? []).map(({ id, label }) => [id, label, "Teams"] as const),
            ]}
            value={team}
            onText={(chosen) => form.set({ team: chosen, role: chosen === inGateway ? "viewer" : "member" })}
          />
        </>
      )}
      <SelectField
        label="Role"
        options={options}
        refused={isOfGateway && !isOwner ? ["owner"] : []}
        value={role}
        onText={(chosen) => form.set({ role: chosen })}
        error={form.fieldError("role")}
        hint={
          isOfGateway && !isOwner
            ? "Only owners name a group whose people are owners"
            : isOfGateway
              ? "Of several groups the highest role counts. Who leaves all of them is a member."
              : "Of several groups the highest role counts. Who leaves all of them leaves the team."
        }
      />
      {!isOfGateway && (
        <Check checked={keeps} onCheck={(isChecked) => form.set({ keeps: isChecked })}>
          Keys that people made in the team stay when they leave it
        </Check>
      )}
      {isOfGateway && role === "owner" && (
        <Callout tone="warn">The people of this group then manage everything, including other owners.</Callout>
      )}
    </FormDialog>
  );
}

/** Stands for the gateway among teams. */
const inGateway = "";
