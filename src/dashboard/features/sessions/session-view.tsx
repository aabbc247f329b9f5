import { useState } from "react";
import { Link } from "wouter";
import { ApiError } from "../../data/api.ts";
import { maySeeAll } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import {
  formatCount,
  formatExactUsd,
  formatMoment,
  formatSeconds,
  formatShare,
  formatShort,
  formatUsd,
} from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Callout, Empty, Loaded } from "../../kit/feedback.tsx";
import { PageHead, Section } from "../../kit/page.tsx";
import { Stat } from "../../kit/stat.tsx";
import { toast } from "../../kit/toast.tsx";
import { AgentsTable, toAgentName } from "./agents-table.tsx";
import { type AgentBill, endSession, mayEnd, type SessionBill, type SessionName, useSession } from "./api.ts";
import { SessionCalls } from "./session-calls.tsx";

/** One session: what it cost by agent, and its calls. */
export function SessionView({ session, account }: SessionName) {
  const state = useSession({ session, account });
  const { data: me } = useMe();
  const [ending, setEnding] = useState<AgentBill>();
  const bill = state.data;
  const isUnknown = bill === undefined && state.error instanceof ApiError && state.error.status === 404;
  const isEndable = bill !== undefined && me !== undefined && mayEnd(me, bill.account);
  const whole = bill?.agents[0];
  const end = async () => {
    if (bill === undefined || me === undefined || ending === undefined) return;
    const calls = await endSession(me, bill.account, session, ending.agent ?? undefined);
    toast(calls === 0 ? "No call was running; new ones are refused" : `${formatCalls(calls)} ended`);
  };
  const requests = new URLSearchParams({
    session,
    ...(bill !== undefined && me !== undefined && maySeeAll(me.role) && { account: bill.account }),
  });
  return (
    <>
      <PageHead
        title="Session"
        description={
          <>
            <span className="mono break">{session}</span>
            {bill?.account_name && <> of {bill.account_name}</>}
          </>
        }
      >
        <Link className="btn" href="/sessions">
          All sessions
        </Link>
        <Link className="btn" href={`/requests?${requests}`}>
          Requests
        </Link>
        {isEndable && whole !== undefined && (
          <Button look="danger" icon="stop" onClick={() => setEnding(whole)}>
            End session
          </Button>
        )}
      </PageHead>
      {isUnknown ? (
        <section className="card" aria-label="Session">
          <Empty icon="branch" title="No call named this session">
            <p>Calls are kept for a while; a session whose calls are all gone is gone too.</p>
          </Empty>
        </section>
      ) : (
        <Loaded state={state} lines={10}>
          {(data) => (
            <div className="stack">
              {!data.complete && (
                <Callout tone="warn">
                  This session has more calls than are added up here. The newest ones are missing in the figures.
                </Callout>
              )}
              <Figures bill={data} />
              <Section title="Agents">
                <AgentsTable bill={data} onEnd={isEndable ? setEnding : undefined} />
              </Section>
              <SessionCalls bill={data} />
            </div>
          )}
        </Loaded>
      )}
      {ending !== undefined && (
        <Confirm
          title={ending.agent === null ? "End this session?" : "End this agent?"}
          action={ending.agent === null ? "End session" : "End agent"}
          act={end}
          onClose={() => setEnding(undefined)}
        >
          <p>
            {ending.agent === null ? "All of its calls" : `${toAgentName(ending.agent)} and everything below it`}{" "}
            {ending.branch.running === 0
              ? "will be refused for ten minutes."
              : `will end (${formatCalls(ending.branch.running)} running), and be refused for ten minutes.`}{" "}
            What the providers have served is charged.
          </p>
        </Confirm>
      )}
    </>
  );
}

function formatCalls(calls: number): string {
  return calls === 1 ? "1 call" : `${formatCount(calls)} calls`;
}

function Figures({ bill }: { bill: SessionBill }) {
  const { calls, errors, running, cost_usd: cost, charged_usd: charged } = bill;
  const { cache_saved_usd: saved, cache_lost_usd: lost } = bill;
  const endedAt = running > 0 ? Date.now() : Date.parse(bill.ended_at ?? bill.started_at ?? "");
  const agents = bill.agents[0]?.branch.agents ?? 0;
  return (
    <div className="stats is-four">
      <Stat name="Cost" value={formatUsd(cost)} exact={formatExactUsd(cost)}>
        {charged === cost ? "all charged" : `${formatUsd(charged)} charged`}
        {(Number(saved) > 0 || Number(lost) > 0) && (
          <>
            <br />
            caches saved {formatUsd(saved)}
            {Number(lost) > 0 && `, misses lost ${formatUsd(lost)}`}
          </>
        )}
      </Stat>
      <Stat name="Calls" value={formatCount(calls)}>
        {[
          agents === 0 ? "one agent" : `${formatCount(agents + 1)} agents`,
          errors === 0 ? "no errors" : `${formatCount(errors)} failed`,
          ...(running === 0 ? [] : [`${formatCount(running)} running`]),
        ].join(", ")}
      </Stat>
      <Stat name="Input tokens" value={formatShort(bill.input_tokens)} exact={formatCount(bill.input_tokens)}>
        <InputBar bill={bill} />
      </Stat>
      <Stat name="Output tokens" value={formatShort(bill.output_tokens)} exact={formatCount(bill.output_tokens)}>
        since {formatMoment(bill.started_at)}, for {formatSeconds((endedAt - Date.parse(bill.started_at ?? "")) / 1000)}
      </Stat>
    </div>
  );
}

const parts = [
  ["read", "input_cached_tokens", "from cache"],
  ["write", "input_cache_write_tokens", "written to it"],
  ["rest", "input_uncached_tokens", "rest"],
] as const;

/** How much of the input was read from a cache. */
function InputBar({ bill }: { bill: SessionBill }) {
  const share = (name: (typeof parts)[number][1]) => (bill.input_tokens === 0 ? 0 : bill[name] / bill.input_tokens);
  return (
    <>
      <span className="input-bar" aria-hidden="true">
        {parts.map(([part, name]) => (
          <span key={part} className={`is-${part}`} style={{ width: `${share(name) * 100}%` }} />
        ))}
      </span>
      <span className="input-key">
        {parts.map(([part, name, words]) => (
          <span key={part}>
            <span className={`swatch is-${part}`} /> {formatShare(share(name))} {words}
          </span>
        ))}
      </span>
    </>
  );
}
