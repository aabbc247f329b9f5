import { useState } from "react";
import { Link } from "wouter";
import { type Call, callsPageSize, getOlderCalls, type useCalls } from "../../data/calls.ts";
import { Button } from "../../kit/button.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Section } from "../../kit/page.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { toastError } from "../../kit/toast.tsx";
import { useAction } from "../../kit/use-action.ts";
import { maskKey, useKeyNames } from "../keys/api.ts";
import { callNames, useModelNames } from "../models/api.ts";
import { callColumns } from "../requests/call-columns.tsx";

/** The page stays short until older calls are wanted. */
const firstShown = 10;

/** The latest requests, refused ones included, with status, duration and cost. */
export function CallsCard({ calls }: { calls: ReturnType<typeof useCalls> }) {
  return (
    <Section title="Recent requests" actions={<Link href="/requests">All requests</Link>}>
      <Loaded state={calls} lines={6}>
        {({ data }) => <Calls latest={data} />}
      </Loaded>
    </Section>
  );
}

/** The latest calls, followed by the older ones that were loaded. */
function Calls({ latest }: { latest: readonly Call[] }) {
  const [older, setOlder] = useState<readonly Call[]>([]);
  const [isAll, setAll] = useState(false);
  const [isExpanded, setExpanded] = useState(false);
  // New calls shift the latest page, so it overlaps with the older ones; drop the duplicates.
  const ids = new Set(latest.map(({ id }) => id));
  // Without overlap there is a gap between the two, so the older ones are dropped.
  const isJoined = older.some(({ id }) => ids.has(id));
  const all = isJoined ? [...latest, ...older.filter(({ id }) => !ids.has(id))] : latest;
  const calls = isExpanded ? all : all.slice(0, firstShown);
  const last = calls.at(-1);
  const { run, isBusy } = useAction(async () => {
    if (!isExpanded) return setExpanded(true);
    if (last === undefined) return;
    const more = await getOlderCalls(last).catch((error: unknown) => toastError(error));
    if (more === undefined) return;
    setOlder([...calls, ...more]);
    setAll(more.length === 0);
  });
  const isOnePage = latest.length < (isExpanded ? callsPageSize : firstShown + 1);
  return (
    <>
      <CallsTable calls={calls} />
      {!isOnePage && (
        <div className="table-foot">
          <span>{isJoined && isAll ? `All ${calls.length} requests` : `The latest ${calls.length} requests`}</span>
          {!(isJoined && isAll) && (
            <Button look="small" disabled={isBusy} onClick={() => void run()}>
              {isBusy ? "Loading…" : "Show older requests"}
            </Button>
          )}
        </div>
      )}
    </>
  );
}

const toColumns = (keyName: (id: string) => string, modelName: (id: string) => string): readonly Column<Call>[] => [
  {
    name: "Model",
    className: "name lead",
    cell: ({ id, model, endpoint, key_id, capability }) => (
      <>
        <Link className="link cut" title={id} href={`/requests?request=${encodeURIComponent(id)}`}>
          {model === null ? (endpoint ?? id) : modelName(model)}
        </Link>
        <span className="sub cut" title={maskKey(key_id)}>
          {capability !== null && `${callNames[capability]} · `}
          {keyName(key_id)}
        </span>
      </>
    ),
  },
  ...callColumns,
];

function CallsTable({ calls }: { calls: readonly Call[] }) {
  return (
    <Table
      columns={toColumns(useKeyNames(), useModelNames())}
      rows={calls}
      rowKey={({ id }) => id}
      empty={
        <Empty icon="pulse" title="No requests yet">
          <p>
            Requests with your API keys are listed here with status, tokens, cost and provider, refused ones included.
          </p>
        </Empty>
      }
    />
  );
}
