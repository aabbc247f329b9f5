import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { maySeeAll } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { readChartSpan } from "../../data/time-range.ts";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Icon } from "../../kit/icon.tsx";
import { PageHead } from "../../kit/page.tsx";
import { setParams, useUrlParams } from "../../kit/url-state.ts";
import { useStatistics } from "../statistics/api.ts";
import { GroupsTable } from "../statistics/groups-table.tsx";
import { SessionView } from "./session-view.tsx";

/** The sessions that cost most, or the one in the address. */
export default function SessionsPage() {
  const params = useUrlParams();
  const session = params.get("session");
  if (session) return <SessionView key={session} session={session} account={params.get("account") ?? undefined} />;
  return <SessionList />;
}

function SessionList() {
  const { data: me } = useMe();
  if (me === undefined) return null;
  const seesAll = maySeeAll(me.role);
  return (
    <>
      <PageHead
        title="Sessions"
        description={`What coding agents cost ${seesAll ? "in all accounts" : "in your account"}, by session and by the agents in it.`}
      >
        <SessionSearch />
      </PageHead>
      <Costliest account={seesAll ? undefined : me.account} />
    </>
  );
}

/** Opens a session by its name, as an agent shows it. */
function SessionSearch() {
  const [draft, setDraft] = useState("");
  const open = (event: FormEvent) => {
    event.preventDefault();
    if (draft.trim() !== "") setParams({ session: draft.trim() });
  };
  return (
    <form className="search" onSubmit={open}>
      <Icon name="search" size={16} />
      <input
        className="input"
        type="search"
        aria-label="Name of a session"
        placeholder="Name of a session"
        maxLength={128}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
      />
    </form>
  );
}

function Costliest({ account }: { account: string | undefined }) {
  const { range: _, intervals: __, ...span } = readChartSpan(useUrlParams(), Date.now());
  const query = {
    ...span,
    interval: "day",
    group_by: "session",
    metric: "cost",
    ...(account !== undefined && { account }),
  } as const;
  const sessions = useStatistics(query);
  return (
    <Loaded state={sessions} lines={8}>
      {(data) => {
        // Calls without a session are no session.
        const groups = data.groups.filter(({ value }) => value !== "");
        if (groups.length === 0) return noSessions;
        return <GroupsTable data={{ ...data, groups }} query={query} isOfAll={account === undefined} />;
      }}
    </Loaded>
  );
}

const noSessions = (
  <section className="card" aria-label="Sessions">
    <Empty icon="branch" title="No sessions in the last 30 days">
      <p>
        Claude Code and Codex name their session by themselves. Other clients send the header <code>session-id</code>.
      </p>
      <div className="row">
        <Link className="btn" href="/connect">
          Connect an agent
        </Link>
      </div>
    </Empty>
  </section>
);
