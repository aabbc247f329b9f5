import { Link } from "wouter";
import type { AccountDetail } from "../../data/admin.ts";
import { formatDay } from "../../format.ts";
import { Section } from "../../kit/page.tsx";
import { type Column, Table } from "../../kit/table.tsx";

type Team = AccountDetail["teams"][number];

/** The teams of a person, with the role there, and the keys that the person made in them. */
export function TeamsSection({ account: { id, teams, keys_elsewhere } }: { account: AccountDetail }) {
  if (teams.length === 0 && keys_elsewhere.count === 0) return null;
  return (
    <Section
      title="Teams"
      actions={
        keys_elsewhere.count > 0 && (
          <Link className="link" href={`/admin/api-keys?made_by=${encodeURIComponent(id)}`}>
            {keys_elsewhere.count === 1 ? "1 key" : `${keys_elsewhere.count} keys`} made in other accounts
          </Link>
        )
      }
    >
      <Table rows={teams} rowKey={({ id }) => id} columns={columns} empty={<p>Belongs to no team</p>} />
    </Section>
  );
}

const columns: readonly Column<Team>[] = [
  {
    name: "Team",
    className: "name lead",
    cell: ({ id, name }) => (
      <Link className="link cut" href={`/admin/accounts/${id}`}>
        {name}
      </Link>
    ),
  },
  { name: "Role", cell: ({ role }) => (role === "admin" ? "Admin" : "Member") },
  { name: "Joined", cell: ({ joined_at }) => formatDay(joined_at) },
];
