import useSWR from "swr";
import { Link } from "wouter";
import { api, request } from "../../data/api.ts";
import {
  formatAge,
  formatChange,
  formatCount,
  formatExactUsd,
  formatShare,
  formatShort,
  formatUsd,
} from "../../format.ts";
import { Callout, Loaded } from "../../kit/feedback.tsx";
import { ItemList } from "../../kit/item-list.tsx";
import { usePlace } from "../../kit/modules.tsx";
import { PageHead, Section, Usd } from "../../kit/page.tsx";
import { Segmented } from "../../kit/segmented.tsx";
import { Change, Stat } from "../../kit/stat.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { useChoice } from "../../kit/url-state.ts";
import { useIncident, useReroutes } from "../incidents/api.ts";
import { RerouteNotices } from "../incidents/reroute-notices.tsx";
import { FirstSteps } from "../overview/first-steps.tsx";
import { toProviderPath } from "../providers/describe.tsx";
import { HealthState } from "../providers/health.tsx";

const getHome = () => request(api.admin.home.get());
const getHealth = () => request(api.admin.health.get());

type Home = Awaited<ReturnType<typeof getHome>>;

/** First page of an operator: the whole gateway, compared with the previous period. */
export default function HomePage() {
  const cards = usePlace("home-cards");
  const home = useSWR("home", getHome, { refreshInterval: 60_000, keepPreviousData: true });
  return (
    <>
      <PageHead title="Home" description="All accounts of this gateway. Days and months are in UTC." />
      <div className="stack">
        <Reroutes />
        <Loaded state={home} lines={10}>
          {(data) => (
            <>
              <TeamsWithoutAdmin teams={data.teams_without_admin} />
              <FirstSteps hasCalls={data.month.now.requests + data.month.before.requests > 0} />
              <Figures home={data} />
              <div className="columns">
                <Providers />
                {cards.map((Card) => (
                  <Card key={Card.name} />
                ))}
                <Movers movers={data.movers} />
                <Budgets budgets={data.budgets} />
                <LowWallets wallets={data.low_wallets} />
                <ExpiringKeys keys={data.expiring_keys} />
              </div>
            </>
          )}
        </Loaded>
      </div>
    </>
  );
}

/** Teams that are named in the notice. */
const teamsNamed = 8;

/** Teams whose admins have left or are disabled, with the page where an operator makes another member admin. */
function TeamsWithoutAdmin({ teams }: { teams: Home["teams_without_admin"] }) {
  if (teams.length === 0) return null;
  const shown = teams.slice(0, teamsNamed);
  return (
    <Callout tone="warn">
      {teams.length === 1 ? "A team has" : "Teams have"} no admin who can sign in:{" "}
      {shown.map(({ id, label }, place) => (
        <span key={id}>
          {place > 0 && ", "}
          <Link className="link" href={`/admin/accounts/${id}?tab=account#team`}>
            {label}
          </Link>
        </span>
      ))}
      {teams.length > shown.length && " and more"}. Make another member admin there.
    </Callout>
  );
}

const yesterday = "yesterday by this time";
const lastMonth = "last month by this time";

function Figures({ home: { today, month } }: { home: Home }) {
  const toShare = ({ errors, requests }: Home["today"]["now"]) => (requests === 0 ? null : errors / requests);
  return (
    <div className="stats is-four">
      <Spend name="Spend today" span={today} when={yesterday} />
      <Spend name="Spend this month" span={month} when={lastMonth} />
      <Stat name="Requests today" value={formatShort(today.now.requests)} exact={formatCount(today.now.requests)}>
        <Change
          now={today.now.requests}
          before={today.before.requests}
          format={formatCount}
          period={yesterday}
          when={yesterday}
        />
        refused ones included
      </Stat>
      <Stat name="Errors today" value={formatShare(toShare(today.now))}>
        <span className="change">
          {today.before.requests === 0 ? "no requests" : formatShare(toShare(today.before))} {yesterday}
        </span>
        <Link href={`/requests?status=failed&from=${encodeURIComponent(today.from ?? "")}`}>
          {formatCount(today.now.errors)} failed
        </Link>
        , {formatCount(today.now.refused)} of them refused
      </Stat>
    </div>
  );
}

function Spend({ name, span: { now, before }, when }: { name: string; span: Home["month"]; when: string }) {
  return (
    <Stat name={name} value={formatUsd(now.cost_usd)} exact={formatExactUsd(now.cost_usd)}>
      <Change
        now={Number(now.cost_usd)}
        before={Number(before.cost_usd)}
        format={formatUsd}
        period={when}
        when={when}
      />
      {formatUsd(now.charged_usd)} charged to wallets
    </Stat>
  );
}

function Reroutes() {
  const { data = [] } = useReroutes();
  return <RerouteNotices reroutes={data} />;
}

/** The requests that a failing provider has cost, and of how many accounts. */
function Hit({ provider }: { provider: string }) {
  const { data } = useIncident(provider);
  if (data === undefined || data.failed_calls === 0) return null;
  const { calls, failed_calls: failed, project_count: accounts } = data;
  return (
    <Link className="faint" href={toProviderPath(provider)}>
      {formatCount(failed)} of {formatCount(calls)} requests failed
      {accounts !== null && `, of ${formatCount(accounts)} ${accounts === 1 ? "account" : "accounts"}`}
    </Link>
  );
}

/** The providers that need somebody, the worst first. */
function Providers() {
  const health = useSWR("health", getHealth, { refreshInterval: 30_000, keepPreviousData: true });
  return (
    <Section title="Providers" actions={<Link href="/admin/providers">All providers</Link>}>
      <Loaded state={health} lines={2}>
        {({ data, count }) => {
          const troubled = data.filter(({ state }) => state !== "working" && state !== "unknown");
          if (troubled.length === 0) {
            return (
              <p className="card-body faint">
                {data.length === 0
                  ? "No provider has a key yet."
                  : `${count.working} working${count.unknown > 0 ? `, ${count.unknown} without calls yet` : ""}.`}
              </p>
            );
          }
          return (
            <ul className="items">
              {troubled.map(
                ({ provider, state, reason, since, last_error, paused_until: until, waiting_routes: waiting }) => (
                  <li key={provider}>
                    <HealthState state={state} pause={{ until, isWaiting: waiting > 0 }} />
                    <Link className="link break" href={toProviderPath(provider)}>
                      {provider}
                    </Link>
                    <span className="break">{reason ?? last_error?.message}</span>
                    {since !== null && <span className="faint">since {formatAge(since)}</span>}
                    <Hit provider={provider} />
                  </li>
                ),
              )}
            </ul>
          );
        }}
      </Loaded>
    </Section>
  );
}

type Mover = Home["movers"]["accounts"][number];
const moverKinds = [
  ["accounts", "Accounts"],
  ["models", "Models"],
] as const;

function Movers({ movers }: { movers: Home["movers"] }) {
  const [kind, setKind] = useChoice("movers", moverKinds);
  const rows = movers[kind];
  return (
    <Section
      title="Top movers"
      actions={<Segmented label="Top movers by" value={kind} options={moverKinds} onChoose={setKind} />}
    >
      <Table
        rows={rows}
        rowKey={({ value }) => value}
        columns={kind === "accounts" ? accountMovers : modelMovers}
        isPlain
        sortName="sort-movers"
        empty={<p className="card-body faint">Nothing was spent in the last {2 * movers.days} days.</p>}
      />
    </Section>
  );
}

const toMoverColumns = (name: string, toPath: (mover: Mover) => string): readonly Column<Mover>[] => [
  {
    name,
    className: "name lead",
    cell: (mover) => (
      <Link className="link cut" href={toPath(mover)}>
        {mover.name}
      </Link>
    ),
  },
  { name: "7 days", className: "end", cell: ({ cost_usd }) => <Usd value={cost_usd} /> },
  { name: "7 days before", className: "end", cell: ({ before_usd }) => <Usd value={before_usd} /> },
  {
    name: "Change",
    className: "end",
    cell: ({ cost_usd, before_usd }) => formatChange(Number(cost_usd), Number(before_usd)) ?? "new",
  },
];
const accountMovers = toMoverColumns(
  "Account",
  ({ value }) => `/admin/gateway?range=week&account=${encodeURIComponent(value)}`,
);
const modelMovers = toMoverColumns(
  "Model",
  ({ value }) => `/admin/gateway?range=week&by=account&model=${encodeURIComponent(value)}`,
);

function Budgets({ budgets }: { budgets: Home["budgets"] }) {
  return (
    <ItemList
      title="Budgets that run out"
      empty="At the current pace, every budget lasts until its period ends."
      rows={budgets}
    >
      {({ account, key, name, account_name: owner, period, budget_usd, spent_usd, forecast_usd, ends_at }) => (
        <li key={key ?? account}>
          <Link className="link break" href={`/admin/accounts/${account}`}>
            {name === null ? (owner ?? account) : `${name}, ${owner ?? account}`}
          </Link>
          <span>
            {formatUsd(spent_usd)} of {formatUsd(budget_usd)} this {period}; forecast{" "}
            <strong className={Number(forecast_usd) > Number(budget_usd) ? "tone is-bad" : ""}>
              {formatUsd(forecast_usd)}
            </strong>{" "}
            by its end {formatAge(ends_at)}
          </span>
        </li>
      )}
    </ItemList>
  );
}

function LowWallets({ wallets }: { wallets: Home["low_wallets"] }) {
  return (
    <ItemList
      title="Low balances"
      empty="No wallet runs out within a week at the pace of the last week."
      rows={wallets}
    >
      {({ account, account_name, balance_usd, days_left }) => (
        <li key={account}>
          <Link className="link break" href={`/admin/accounts/${account}`}>
            {account_name ?? account}
          </Link>
          <span>
            <Usd value={balance_usd} />,{" "}
            {days_left === 0 ? "nothing left" : `lasts ${days_left} ${days_left === 1 ? "day" : "days"}`}
          </span>
        </li>
      )}
    </ItemList>
  );
}

function ExpiringKeys({ keys }: { keys: Home["expiring_keys"] }) {
  return (
    <ItemList
      title="Expiring keys"
      more={<Link href="/admin/api-keys?order=expires">All API keys</Link>}
      empty="No API key expires within two weeks."
      rows={keys}
    >
      {({ id, name, account, account_name, expires_at, last_used_at }) => (
        <li key={id}>
          <Link className="link break" href={`/admin/api-keys?search=${encodeURIComponent(id)}`}>
            {name}, {account_name ?? account}
          </Link>
          <span>
            expires {formatAge(expires_at)};{" "}
            {last_used_at === null ? "never used" : `last used ${formatAge(last_used_at)}`}
          </span>
        </li>
      )}
    </ItemList>
  );
}
