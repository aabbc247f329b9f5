import { useEffect, useState } from "react";
import { useSearchParams } from "wouter";
import { toMessage } from "../../data/api.ts";
import { type RequestPage, toDownload, useRequests } from "../../data/requests.ts";
import { maySeeAll } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { formatCount, formatMoment } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { Callout, Empty, Loaded } from "../../ui/feedback.tsx";
import { Icon } from "../../ui/icon.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Filters } from "./filters.tsx";
import { RequestDialog } from "./request-dialog.tsx";
import { RequestsTable } from "./requests-table.tsx";
import { hasFilters, toQuery } from "./search.ts";

/** Searches that go on by themselves while they find nothing. */
const emptySearchesMax = 20;

/** The request log. Filters and the opened request are in the address. */
export default function RequestsPage() {
  const [params, setParams] = useSearchParams();
  const [isLive, setLive] = useState(false);
  const role = useMe().data?.role;
  const isAdmin = role !== undefined && maySeeAll(role);
  const query = toQuery(params, Date.now());
  const log = useRequests(query, isLive);
  const change = (changes: Readonly<Record<string, string>>) =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        for (const [name, value] of Object.entries(changes)) {
          if (value === "") after.delete(name);
          else after.set(name, value);
        }
        return after;
      },
      { replace: true },
    );
  const shownId = params.get("request");
  return (
    <>
      <PageHead
        title="Requests"
        description={`Every request with ${isAdmin ? "an API key of this gateway" : "your API keys"}, also those that were refused.`}
      >
        <Button look={isLive ? "primary" : ""} icon="pulse" aria-pressed={isLive} onClick={() => setLive(!isLive)}>
          Live
        </Button>
        {(["csv", "jsonl"] as const).map((format) => (
          <a key={format} className="btn" href={toDownload(query, format)} download>
            <Icon name="download" size={15} />
            {format.toUpperCase()}
          </a>
        ))}
      </PageHead>
      <section className="card" aria-label="Requests">
        <Filters params={params} isAdmin={isAdmin} onChange={change} />
        {log.data !== undefined && log.error !== undefined && (
          <div className="card-body">
            <Callout tone="bad">{toMessage(log.error)}</Callout>
          </div>
        )}
        <Loaded state={log} lines={8}>
          {(pages) => (
            <Pages
              pages={pages}
              isAdmin={isAdmin}
              isLoading={log.isValidating && pages.length < log.size}
              isFiltered={hasFilters(params)}
              onMore={() => void log.setSize((size) => size + 1)}
              onShow={(id) => change({ request: id })}
              onClear={() => setParams({}, { replace: true })}
            />
          )}
        </Loaded>
      </section>
      {shownId !== null && (
        <RequestDialog id={shownId} isAdmin={isAdmin} onChange={change} onClose={() => change({ request: "" })} />
      )}
    </>
  );
}

interface PagesProps {
  pages: readonly RequestPage[];
  isAdmin: boolean;
  isLoading: boolean;
  isFiltered: boolean;
  onMore: () => void;
  onShow: (id: string) => void;
  onClear: () => void;
}

function Pages({ pages, isAdmin, isLoading, isFiltered, onMore, onShow, onClear }: PagesProps) {
  const rows = pages.flatMap(({ data }) => data);
  const next = pages.at(-1)?.next ?? null;
  const goesOn = rows.length === 0 && next !== null && pages.length < emptySearchesMax;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each page that was loaded
  useEffect(() => {
    if (goesOn) onMore();
  }, [goesOn, pages.length]);
  return (
    <>
      {rows.length > 0 && <RequestsTable requests={rows} isAdmin={isAdmin} onShow={onShow} />}
      {rows.length === 0 && next === null && (
        <Empty icon="list" title={isFiltered ? "No request fits these filters" : "No requests yet"}>
          {isFiltered ? (
            <div className="row">
              <Button onClick={onClear}>Clear filters</Button>
            </div>
          ) : (
            <p>Requests with your API keys are listed here, with their status, tokens, cost and route.</p>
          )}
        </Empty>
      )}
      {next !== null && (
        <div className="table-foot">
          <span role="status">
            {formatCount(rows.length)} {rows.length === 1 ? "request" : "requests"}, searched back to{" "}
            {formatMoment(next.before)}
          </span>
          <Button look="small" disabled={isLoading || goesOn} onClick={onMore}>
            {isLoading || goesOn ? "Searching…" : "Search further back"}
          </Button>
        </div>
      )}
    </>
  );
}
