import { useState } from "react";
import { toMessage } from "../../data/api.ts";
import { maySeeAll } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { Button } from "../../kit/button.tsx";
import { Callout, Empty, Loaded } from "../../kit/feedback.tsx";
import { useFilters } from "../../kit/filters.tsx";
import { PageHead } from "../../kit/page.tsx";
import { SavedViews } from "../../kit/saved-views.tsx";
import { DownloadLinks, LoadMore } from "../../kit/search.tsx";
import { filterNames, type RequestPage, toDownload, useRequests } from "./api.ts";
import { Filters } from "./filters.tsx";
import { RequestDialog } from "./request-dialog.tsx";
import { RequestsTable } from "./requests-table.tsx";
import { Volume } from "./volume.tsx";

/** The request log. Filters and the opened request are in the address. */
export default function RequestsPage() {
  const { params, query, isFiltered, change, clear } = useFilters(filterNames);
  const [isLive, setLive] = useState(false);
  const role = useMe().data?.role;
  const isAdmin = role !== undefined && maySeeAll(role);
  const log = useRequests(query, isLive);
  const shownId = params.get("request");
  return (
    <>
      <PageHead
        title="Requests"
        description={`Every request ${isAdmin ? "to this gateway" : "with your API keys"}, refused ones included.`}
      >
        <SavedViews page="requests" left={["request"]} />
        <Button look={isLive ? "primary" : ""} icon="pulse" aria-pressed={isLive} onClick={() => setLive(!isLive)}>
          Live
        </Button>
        <DownloadLinks toAddress={(format) => toDownload(query, format)} />
      </PageHead>
      <section className="card" aria-label="Requests">
        <Filters params={params} isAdmin={isAdmin} onChange={change} />
        <Volume query={query} onChange={change} />
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
              isFiltered={isFiltered}
              onMore={() => void log.setSize((size) => size + 1)}
              onShow={(id) => change({ request: id })}
              onClear={clear}
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
  return (
    <>
      {rows.length > 0 && <RequestsTable requests={rows} isAdmin={isAdmin} onShow={onShow} />}
      {rows.length === 0 && pages.at(-1)?.next === null && (
        <Empty icon="list" title={isFiltered ? "No request fits these filters" : "No requests yet"}>
          {isFiltered ? (
            <div className="row">
              <Button onClick={onClear}>Clear filters</Button>
            </div>
          ) : (
            <p>Requests with your API keys are listed here, with their status, tokens, cost and provider.</p>
          )}
        </Empty>
      )}
      <LoadMore nouns={["request", "requests"]} pages={pages} isLoading={isLoading} onMore={onMore} />
    </>
  );
}
