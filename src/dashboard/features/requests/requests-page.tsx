import { useState } from "react";
import { toMessage } from "../../data/api.ts";
import { maySeeAll } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { Button, LinkButton } from "../../kit/button.tsx";
import { Callout, Empty, Loaded } from "../../kit/feedback.tsx";
import { DownloadLinks, LoadMore, NothingFits, useFilters } from "../../kit/log.tsx";
import { PageHead } from "../../kit/page.tsx";
import { SavedViews } from "../../kit/saved-views.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { setParams } from "../../kit/url-state.ts";
import { maskKey, useKeyNames } from "../keys/api.ts";
import { callNames, useModelNames } from "../models/api.ts";
import { filterNames, type LoggedRequest, toDownload, useRequests } from "./api.ts";
import { callColumns } from "./call-columns.tsx";
import { Filters } from "./filters.tsx";
import { RequestDialog } from "./request-dialog.tsx";
import { Volume } from "./volume.tsx";

/** The request log. Filters and the opened request are in the address. */
export default function RequestsPage() {
  const { params, query, isFiltered } = useFilters(filterNames);
  const [isLive, setLive] = useState(false);
  const role = useMe().data?.role;
  const isAdmin = role !== undefined && maySeeAll(role);
  const log = useRequests(query, isLive);
  const keyName = useKeyNames();
  const modelName = useModelNames();
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
        <Filters params={params} isAdmin={isAdmin} />
        <Volume query={query} />
        {log.data !== undefined && log.error !== undefined && (
          <div className="card-body">
            <Callout tone="bad">{toMessage(log.error)}</Callout>
          </div>
        )}
        <Loaded state={log} lines={8}>
          {(pages) => (
            <>
              <Table
                columns={toColumns(keyName, modelName, isAdmin)}
                rows={pages.flatMap(({ data }) => data)}
                rowKey={({ id }) => id}
                empty={pages.at(-1)?.next !== null ? "" : isFiltered ? <NothingFits noun="request" /> : noRequests}
              />
              <LoadMore nouns={["request", "requests"]} log={log} />
            </>
          )}
        </Loaded>
      </section>
      {shownId !== null && <RequestDialog id={shownId} isAdmin={isAdmin} onClose={() => setParams({ request: "" })} />}
    </>
  );
}

const noRequests = (
  <Empty icon="list" title="No requests yet">
    <p>Requests with your API keys are listed here, with their status, tokens, cost and provider.</p>
  </Empty>
);

const toColumns = (
  keyName: (id: string) => string,
  modelName: (id: string) => string,
  isAdmin: boolean,
): readonly Column<LoggedRequest>[] => [
  {
    name: "Request",
    className: "name lead",
    cell: ({ id, model, model_name: name, requested_model, endpoint, capability, key_id, account, account_name }) => (
      <>
        <LinkButton look="link cut" title={id} onClick={() => setParams({ request: id })}>
          {model === null ? (endpoint ?? id) : (name ?? modelName(model))}
        </LinkButton>
        {requested_model !== null && <span className="sub cut">requested as {modelName(requested_model)}</span>}
        <span className="sub cut" title={maskKey(key_id)}>
          {capability !== null && `${callNames[capability]} · `}
          {isAdmin ? (account_name ?? account) : keyName(key_id)}
        </span>
      </>
    ),
  },
  ...callColumns,
];
