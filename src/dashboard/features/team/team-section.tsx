import { useState } from "react";
import { toRoleName } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { formatDay, formatMoment } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Select } from "../../kit/field.tsx";
import { NameDialog } from "../../kit/form.tsx";
import { Section } from "../../kit/page.tsx";
import { actionsColumn, type Column, Table } from "../../kit/table.tsx";
import { toast, toastError } from "../../kit/toast.tsx";
import {
  deleteTeamInvitation,
  leaveTeam,
  type Person,
  renameTeam,
  setTeamRole,
  type TeamInvitation,
  type TeamRole,
  teamRoles,
  useTeam,
} from "./api.ts";
import { BudgetSection, SubjectBudgets } from "./budget-form.tsx";
import { InviteDialog, RemoveDialog } from "./team-dialogs.tsx";

interface TeamProps {
  /** Account, for administrators of the gateway; absent: the account that the user is working in. */
  account?: string;
  /** Whether the user may change the team. */
  mayManage: boolean;
}

/** The people who share an account, and the invitations that can still be taken. */
export function TeamSection({ account, mayManage }: TeamProps) {
  const team = useTeam(account);
  const { data: me } = useMe();
  const [isInviting, setInviting] = useState(false);
  const [isLeaving, setLeaving] = useState(false);
  const [isRenaming, setRenaming] = useState(false);
  /** A personal account is named after its person, so it cannot be renamed. */
  const canRename = account === undefined && team.data?.people.every(({ is_holder }) => !is_holder) === true;
  const [removing, setRemoving] = useState<Person>();
  const rename = async (name: string) => {
    await renameTeam(name);
    toast("The team is renamed");
    setRenaming(false);
  };
  return (
    <Section
      id="team"
      title="Team"
      actions={
        mayManage && (
          <div className="row">
            {canRename && (
              <Button look="small" onClick={() => setRenaming(true)}>
                Rename
              </Button>
            )}
            <Button look="small" icon="plus" onClick={() => setInviting(true)}>
              Invite to team
            </Button>
          </div>
        )
      }
    >
      <Loaded state={team} lines={3}>
        {({ people, invitations, budget, budgets }) => (
          <>
            <Table
              rows={people}
              rowKey={({ id }) => id}
              columns={toColumns({ account, mayManage, own: me?.own_account, onRemove: setRemoving })}
              sortName="team"
              fileName="team"
              empty={noPeople}
            />
            <Invitations account={account} invitations={invitations} mayManage={mayManage} />
            {account === undefined && (
              <>
                <BudgetSection account={account} budget={budget} mayManage={mayManage} />
                <SubjectBudgets budgets={budgets} />
              </>
            )}
          </>
        )}
      </Loaded>
      {account === undefined && me !== undefined && me.account !== me.own_account && (
        <div className="table-foot">
          <span>You are working in the account {me.account_name}.</span>
          <Button onClick={() => setLeaving(true)}>Leave team</Button>
        </div>
      )}
      {isInviting && (
        <InviteDialog account={account} canMail={team.data?.can_mail === true} onClose={() => setInviting(false)} />
      )}
      {removing !== undefined && (
        <RemoveDialog account={account} person={removing} onClose={() => setRemoving(undefined)} />
      )}
      {isRenaming && (
        <NameDialog
          title="Rename team"
          name={me?.account_name ?? ""}
          lengthMax={60}
          act={rename}
          onClose={() => setRenaming(false)}
        />
      )}
      {isLeaving && (
        <Confirm title="Leave this team?" action="Leave team" act={leaveTeam} onClose={() => setLeaving(false)}>
          <p>You lose access to its keys, requests and balance. Keys that you created keep working.</p>
        </Confirm>
      )}
    </Section>
  );
}

interface ColumnOptions extends Pick<TeamProps, "mayManage"> {
  account: string | undefined;
  /** The id of the user. */
  own: string | undefined;
  onRemove: (person: Person) => void;
}

function toColumns({ account, mayManage, own, onRemove }: ColumnOptions): readonly Column<Person>[] {
  const set = ({ id, email }: Person, role: TeamRole) =>
    setTeamRole(account, id, role).then(() => toast(`The role of ${email} is changed`), toastError);
  return [
    {
      name: "Person",
      className: "name lead",
      sort: ({ email }) => email,
      cell: ({ email, name, id, disabled }) => (
        <>
          <span className="person">
            <strong className="cut" title={email}>
              {name ?? email}
            </strong>
            {id === own && <span className="badge">you</span>}
            {disabled && <span className="badge is-bad">disabled</span>}
          </span>
          {name !== null && <span className="sub cut">{email}</span>}
        </>
      ),
    },
    {
      name: "Role",
      sort: toTeamRoleName,
      cell: (person) =>
        mayManage && !person.is_holder ? (
          <Select
            isSmall
            aria-label={`Role of ${person.email} in the team`}
            options={teamRoles}
            value={person.team_role}
            onText={(role) => void set(person, role)}
          />
        ) : (
          <span>
            {toTeamRoleName(person)}
            {person.role !== "member" && <span className="sub">{toRoleName(person.role)} of the gateway</span>}
          </span>
        ),
    },
    {
      name: "Joined",
      className: "tight",
      sort: ({ joined_at }) => joined_at,
      cell: ({ joined_at }) => (joined_at === null ? "" : formatDay(joined_at)),
    },
    actionsColumn(
      (person) =>
        mayManage &&
        !person.is_holder &&
        (account !== undefined || person.id !== own) && (
          <Button look="plain small bad" aria-label={`Remove ${person.email}`} onClick={() => onRemove(person)}>
            Remove
          </Button>
        ),
    ),
  ];
}

function toTeamRoleName(person: Person): string | undefined {
  return person.is_holder ? "Account holder" : teamRoles.find(([role]) => role === person.team_role)?.[1];
}

function Invitations({
  account,
  invitations,
  mayManage,
}: {
  account: string | undefined;
  invitations: readonly TeamInvitation[];
  mayManage: boolean;
}) {
  if (invitations.length === 0) return null;
  const remove = (id: string) =>
    deleteTeamInvitation(account, id).then(() => toast("The invitation no longer works"), toastError);
  return (
    <ul className="rows" aria-label="Open invitations">
      {invitations.map(({ id, email, role, expires_at, created_by }) => (
        <li key={id} className="row row-apart">
          <span>
            <strong>{email ?? "Anyone with the link"}</strong> <span className="badge is-warn">invited</span>
            <span className="sub">
              {role === "admin" ? "Team admin" : "Member"}, until {formatMoment(expires_at)}
              {created_by !== null && `, by ${created_by}`}
            </span>
          </span>
          {mayManage && (
            <Button look="small" aria-label={`Delete the invitation of ${email ?? id}`} onClick={() => void remove(id)}>
              Delete
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

const noPeople = (
  <Empty icon="accounts" title="Nobody yet">
    <p>Invite its holder to set a password, or people to join its team.</p>
  </Empty>
);
