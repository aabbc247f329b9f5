import { useMe } from "../../data/session.ts";
import { PageHead } from "../../kit/page.tsx";
import { AccountsSection } from "./accounts-section.tsx";
import { TeamSection } from "./team-section.tsx";

/** The people of the account that the user works in, and the other accounts that they can work in. */
export default function TeamPage() {
  const { data: me } = useMe();
  if (me === undefined) return null;
  return (
    <>
      <PageHead title="Team" description="The people who share this account, its balance, keys and requests." />
      <div className="stack narrow">
        <AccountsSection />
        <TeamSection mayManage={me.team_role === "admin" && me.role !== "viewer"} />
      </div>
    </>
  );
}
