import { useId, useState } from "react";
import { Link } from "wouter";
import { useAccounts } from "../../data/admin.ts";
import { roleNames, toRoleName, useMayAdminister } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Callout, Empty, Loaded } from "../../kit/feedback.tsx";
import { TextField } from "../../kit/field.tsx";
import { PageHead, Section } from "../../kit/page.tsx";
import { actionsColumn, type Column, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import type { Field } from "../resources/api.ts";
import { type Adjust, formOnly, ResourceDialog, type Texts } from "../resources/form.tsx";
import { teamRoles } from "../team/api.ts";
import { type GroupRole, removeGroupRole, useGroups } from "./api.ts";

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
        <Link className="btn" href="/help/identity-provider#users-and-groups-by-scim">
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
  const adjust: Adjust = ({ name }, { team }) => {
    const isOfGateway = team === inGateway;
    if (name === "group") {
      const options = names.map((one) => <option key={one} value={one} />);
      return { list, before: <datalist id={list}>{options}</datalist> };
    }
    if (name === teamField.name) {
      return {
        choices: [
          [inGateway, "The gateway"],
          ...(teams.data?.data ?? []).map(({ id, label }) => [id, label, "Teams"] as const),
        ],
        before: (teams.data?.has_more === true || search !== "") && (
          <TextField label="Find a team" autoComplete="off" value={search} onText={setSearch} />
        ),
      };
    }
    if (name === "leavers_keys") return !isOfGateway && {};
    if (name !== "role") return {};
    if (!isOfGateway) {
      const hint = "Of several groups the highest role counts. Who leaves all of them leaves the team.";
      return { choices: teamRoles, initial: "member", hint };
    }
    return {
      choices: roleNames,
      refused: isOwner ? [] : ["owner"],
      hint: isOwner
        ? "Of several groups the highest role counts. Who leaves all of them is a member."
        : "Only owners name a group whose people are owners",
    };
  };
  const teamOf = ({ team = inGateway }: Texts) => (team === inGateway ? undefined : team);
  return (
    <ResourceDialog
      name="group role"
      title={row === undefined ? "Add a group" : `Change ${toTitle(row)}`}
      description="People who are in the group get the role at once."
      account={teamOf}
      entry={row}
      initial={{ team: row?.team?.id ?? inGateway, ...(row === undefined && { role: "viewer" }) }}
      withFields={([group, ...others]) => (group === undefined ? [] : [group, teamField, ...others])}
      adjust={adjust}
      toBody={({ team: _, ...body }, texts) => (teamOf(texts) === undefined ? { ...body, leavers_keys: null } : body)}
      label={row === undefined ? "Add group" : "Save"}
      saved={({ group = "" }) => `The people of ${group.trim()} have the role`}
      onClose={onClose}
    >
      {({ team, role }) =>
        team === inGateway &&
        role === "owner" && (
          <Callout tone="warn">The people of this group then manage everything, including other owners.</Callout>
        )
      }
    </ResourceDialog>
  );
}

/** Stands for the gateway among teams. */
const inGateway = "";

/** Where the role is: the path of a row says it, not the row. */
const teamField: Field = { ...formOnly, name: "team", label: "Role in" };
