import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { fromSeconds } from "../../data/api.ts";
import { useMayAdminister } from "../../data/roles.ts";
import { formatAge, formatCount, formatMoment, formatShare } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Code } from "../../kit/copy.tsx";
import { Loaded } from "../../kit/feedback.tsx";
import { Fact, Section } from "../../kit/page.tsx";
import { actionsColumn, type Column, Table } from "../../kit/table.tsx";
import { type Incident, useIncident } from "./api.ts";
import { RerouteDialog, type RerouteSubject } from "./reroute-dialog.tsx";
import { RerouteNotices } from "./reroute-notices.tsx";

const modelsShown = 10;

/** The incident of a provider: since when it fails, who is hit, what clients are answered, and what can be done. */
export function IncidentPart({ name }: { name: string }) {
  const incident = useIncident(name);
  const [subject, setSubject] = useState<RerouteSubject>();
  return (
    <>
      <Loaded state={incident} lines={6}>
        {(data) => (
          <>
            <RerouteNotices reroutes={data.reroutes} />
            <Facts
              incident={data}
              onReroute={() => setSubject({ subject: "provider", name, models: data.models.map(({ id }) => id) })}
            />
            {data.failed_calls > 0 && (
              <div className="columns">
                <Hit incident={data} />
                <Answers incident={data} />
              </div>
            )}
            <Models incident={data} onReroute={(model) => setSubject({ subject: "model", name: model })} />
            {data.customer_text !== null && (
              <Section title="Text for customers">
                <div className="card-body">
                  <Code text={data.customer_text} label="text for customers" />
                </div>
              </Section>
            )}
          </>
        )}
      </Loaded>
      {subject !== undefined && <RerouteDialog {...subject} onClose={() => setSubject(undefined)} />}
    </>
  );
}

/** The answer to requests that are not sent because the provider is paused. They are logged without a provider. */
const pausedCode = "unavailable";

/** To the requests of the figures, which may have begun a little before the first failure. */
function toRequests(
  { id, counted_from: from, counted_until: until }: Incident,
  filters: Record<string, string> = {},
): string {
  // Answers are also of requests that their clients sent wrongly, which are no failures.
  const isAnswer = filters.error !== undefined && filters.error !== pausedCode;
  const span = { from: fromSeconds(from - 60), ...(until !== null && { until: fromSeconds(until + 1) }) };
  return `/requests?${new URLSearchParams({ [isAnswer ? "plugin" : "incident"]: id, ...filters, ...span })}`;
}

const toShare = ({ calls, failed_calls: failed }: { calls: number; failed_calls: number }) =>
  `${formatCount(failed)} of ${formatCount(calls)}${calls === 0 ? "" : ` (${formatShare(failed / calls)})`}`;

function toSpan({ counted_from: from, counted_until: until }: Incident): string {
  const start = formatMoment(fromSeconds(from));
  return until === null ? `since ${start}` : `from ${start} to ${formatMoment(fromSeconds(until))}`;
}

function Facts({ incident, onReroute }: { incident: Incident; onReroute: () => void }) {
  const { id, failing_since: failingSince, last_success_at: success, recent_attempts: recent } = incident;
  const mayChange = useMayAdminister();
  return (
    <Section
      title="Requests"
      actions={
        <span className="row">
          <Link className="btn btn-small" href={`/admin/gateway?range=day&by=account&plugin=${encodeURIComponent(id)}`}>
            Usage
          </Link>
          {mayChange && (
            <Button look="small" onClick={onReroute}>
              Re-route…
            </Button>
          )}
        </span>
      }
    >
      <dl className="facts card-body">
        <Fact name="Every attempt fails">
          {failingSince !== null && `since ${formatMoment(fromSeconds(failingSince))}`}
        </Fact>
        <Fact name="Last success">{success !== null && formatAge(fromSeconds(success))}</Fact>
        <Fact name="Attempts now">
          {recent.attempts > 0 && `${formatCount(recent.errors)} of the latest ${formatCount(recent.attempts)} failed`}
        </Fact>
        <Fact name="Failed requests">
          <FailedLink incident={incident}>{toShare(incident)}</FailedLink>
          <span className="sub">{toSpan(incident)}</span>
        </Fact>
        {incident.refused_calls > 0 && (
          <Fact name={`Refused while ${id} was paused`}>
            <Link href={toRequests(incident, { error: pausedCode })}>
              {formatCount(incident.refused_calls)} of them
            </Link>
            <span className="sub">not sent to {id}</span>
          </Fact>
        )}
        <Fact name="Last hour">{`${formatCount(incident.calls_of_last_hour)} requests`}</Fact>
      </dl>
    </Section>
  );
}

function FailedLink({ incident, children }: { incident: Incident; children: ReactNode }) {
  return incident.failed_calls === 0 ? children : <Link href={toRequests(incident)}>{children}</Link>;
}

type Hit = NonNullable<Incident["projects"]>[number];

function Hit({ incident }: { incident: Incident }) {
  const { id, projects, project_count: count } = incident;
  const columns: readonly Column<Hit>[] = [
    {
      name: "Account",
      className: "name lead",
      cell: ({ project_id: account, name }) => (
        <Link className="link cut" href={`/admin/accounts/${account}`}>
          {name}
        </Link>
      ),
    },
    {
      name: "Failed requests",
      className: "end",
      cell: (hit) => <Link href={toRequests(incident, { account: hit.project_id })}>{toShare(hit)}</Link>,
    },
  ];
  return (
    <Section
      title="Accounts hit"
      actions={
        <Link href={`/admin/gateway?range=day&by=account&metric=errors&plugin=${encodeURIComponent(id)}`}>
          All {formatCount(count ?? 0)}
        </Link>
      }
    >
      <Table rows={projects ?? []} rowKey={(hit) => hit.project_id} columns={columns} isPlain empty="" />
    </Section>
  );
}

type Answer = Incident["answers"][number];

function Answers({ incident }: { incident: Incident }) {
  const columns: readonly Column<Answer>[] = [
    {
      name: "Answer",
      className: "lead",
      cell: ({ status, code }) => (
        <>
          {status} <span className="mono">{code}</span>
        </>
      ),
    },
    {
      name: "Requests",
      className: "end",
      cell: ({ code, calls }) =>
        code === null ? (
          formatCount(calls)
        ) : (
          <Link href={toRequests(incident, { error: code })}>{formatCount(calls)}</Link>
        ),
    },
  ];
  return (
    <Section title="Clients were answered">
      <Table
        rows={incident.answers}
        rowKey={({ status, code }) => `${status} ${code}`}
        columns={columns}
        isPlain
        sortName="sort-answers"
        empty=""
      />
    </Section>
  );
}

type ModelOf = Incident["models"][number];

function Models({ incident, onReroute }: { incident: Incident; onReroute: (model: string) => void }) {
  const mayChange = useMayAdminister();
  const alone = incident.models.filter(({ other_providers: others }) => others.length === 0).length;
  const columns: readonly Column<ModelOf>[] = [
    { name: "Model", className: "name lead", cell: ({ name }) => <span className="break">{name}</span> },
    {
      name: "Failed requests",
      className: "end",
      cell: (model) =>
        model.failed_calls === 0 ? (
          toShare(model)
        ) : (
          <Link href={toRequests(incident, { model: model.id })}>{toShare(model)}</Link>
        ),
    },
    {
      name: "Other providers",
      cell: ({ other_providers: others }) =>
        others.length === 0 ? (
          <span className="badge is-warn">none</span>
        ) : (
          <span className="break">{others.join(", ")}</span>
        ),
    },
    actionsColumn(
      ({ name }) =>
        mayChange && (
          <Button look="small" aria-label={`Re-route ${name}`} onClick={() => onReroute(name)}>
            Re-route…
          </Button>
        ),
    ),
  ];
  return (
    <Section
      title="Models"
      actions={
        <span className="faint">
          {formatCount(alone)} of {formatCount(incident.models.length)} without another route
        </span>
      }
    >
      <Table
        rows={incident.models}
        rowKey={({ id }) => id}
        columns={columns}
        shownMax={modelsShown}
        sortName="sort-models"
        empty={<p className="card-body faint">It serves no models now.</p>}
      />
    </Section>
  );
}
