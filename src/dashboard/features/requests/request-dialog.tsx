import { Link } from "wouter";
import { useBaseUrl } from "../../data/api.ts";
import { toPolicySentence } from "../../data/policy-sentence.ts";
import { formatCount, formatExactUsd, formatMs, formatSecond } from "../../format.ts";
import { LinkButton } from "../../kit/button.tsx";
import { CopyButton } from "../../kit/copy.tsx";
import { Dialog, DialogContent } from "../../kit/dialog.tsx";
import { Callout, Loaded } from "../../kit/feedback.tsx";
import { usePlace } from "../../kit/modules.tsx";
import { Fact } from "../../kit/page.tsx";
import { setParams } from "../../kit/url-state.ts";
import { createSnippet } from "../connect/snippets.ts";
import { maskKey } from "../keys/api.ts";
import { callNames, useModelNames } from "../models/api.ts";
import { meterNames, meters } from "../models/meters.ts";
import { type RequestDetail, useRequest } from "./api.ts";
import { describeMiss } from "./cache-miss.ts";
import { CallStatus } from "./call-columns.tsx";
import { ChargeSum, toChargeText, toHoldText, toProviderCostText } from "./charge-sum.tsx";

/** All that is known of one request. */
export function RequestDialog({ id, isAdmin, onClose }: { id: string; isAdmin: boolean; onClose: () => void }) {
  const request = useRequest(id);
  return (
    <Dialog title="Request" description={<span className="mono break">{id}</span>} isWide onClose={onClose}>
      <DialogContent label="Close" onClose={onClose}>
        <Loaded state={request} lines={8}>
          {(detail) => <Detail detail={detail} isAdmin={isAdmin} />}
        </Loaded>
      </DialogContent>
    </Dialog>
  );
}

/** Shows the requests that have the same value in place of the dialog, or another request in it. */
const filterBy = (name: string, value: string) => setParams({ request: "", [name]: value });

function toSessionPath(session: string, account: string, isAdmin: boolean): string {
  return `/sessions?${new URLSearchParams({ session, ...(isAdmin && { account }) })}`;
}

function Detail({ detail, isAdmin }: { detail: RequestDetail; isAdmin: boolean }) {
  const baseUrl = useBaseUrl();
  const parts = usePlace("request-detail");
  const name = detail.model_name ?? detail.model ?? "";
  const {
    requests,
    error,
    failed_attempts: attempts,
    ignored,
    lowered,
    warnings,
    session,
    tag,
    end_user: endUser,
    agent,
    parent_agent: parentAgent,
  } = detail;
  return (
    <>
      {error !== null && <Callout tone="warn">{error}</Callout>}
      <div className="row">
        <CallStatus call={detail} />
        <CopyButton text={detail.id} label="Copy request ID" shown="Copy request ID" />
        {detail.model !== null && detail.capability === "chat" && (
          <>
            <CopyButton text={toCurl(detail, baseUrl)} label="Copy as curl" shown="Copy as curl" />
            <Link className="btn btn-small" href={`/playground?model=${encodeURIComponent(name)}`}>
              Open in playground
            </Link>
          </>
        )}
      </div>
      {detail.cache_miss !== null && <p className="soft">Cache missed: {describeMiss(detail.cache_miss)}</p>}
      {requests > 1 && (
        <p className="soft">
          This row counts {formatCount(requests)} requests refused for the same reason within one second.
        </p>
      )}
      <dl className="facts">
        <Fact name="Time">{detail.at && formatSecond(detail.at)}</Fact>
        <Fact name={detail.requested_model === null ? "Model" : "Served by"}>
          {detail.model && (
            <Link href={`/models?model=${encodeURIComponent(detail.model_name ?? detail.model)}`}>
              {detail.model_name ?? detail.model}
            </Link>
          )}
        </Fact>
        <Fact name="Requested model">{detail.requested_model}</Fact>
        <Fact name="Endpoint">{detail.endpoint}</Fact>
        <Fact name="Capability">
          {detail.capability && `${callNames[detail.capability]}${detail.stream ? ", streamed" : ""}`}
        </Fact>
        <Fact name="Protocol">{detail.protocol}</Fact>
        {isAdmin && (
          <Fact name="Account">
            <LinkButton onClick={() => filterBy("account", detail.account)}>
              {detail.account_name ?? detail.account}
            </LinkButton>
          </Fact>
        )}
        <Fact name="API key">
          <LinkButton onClick={() => filterBy("key", detail.key_id)}>
            {detail.key_name ?? maskKey(detail.key_id)}
          </LinkButton>{" "}
          <span className="faint mono">{maskKey(detail.key_id)}</span>
        </Fact>
        <Fact name="Session">
          {session && (
            <>
              <LinkButton onClick={() => filterBy("session", session)}>{session}</LinkButton>{" "}
              <Link className="faint" href={toSessionPath(session, detail.account, isAdmin)}>
                Bill
              </Link>
            </>
          )}
        </Fact>
        <Fact name="Agent">{agent && <LinkButton onClick={() => filterBy("agent", agent)}>{agent}</LinkButton>}</Fact>
        <Fact name="Started by">
          {parentAgent && <LinkButton onClick={() => filterBy("agent", parentAgent)}>{parentAgent}</LinkButton>}
        </Fact>
        <Fact name="Tag">{tag && <LinkButton onClick={() => filterBy("tag", tag)}>{tag}</LinkButton>}</Fact>
        <Fact name="End user">
          {endUser && <LinkButton onClick={() => filterBy("end_user", endUser)}>{endUser}</LinkButton>}
        </Fact>
        <Fact name="Client request ID">{detail.client_request_id}</Fact>
        <Fact name="Provider">{detail.plugin}</Fact>
        <Fact name="Time to first token">{detail.first_byte_ms !== null && formatMs(detail.first_byte_ms)}</Fact>
        <Fact name="Duration">{detail.duration_ms !== null && formatMs(detail.duration_ms)}</Fact>
        <Fact name="Finish reason">{detail.finish_reasons.join(", ") || null}</Fact>
        <Fact name="Usage">{toMeterLines(detail).join(", ") || null}</Fact>
        <Fact name="Charged">{toChargeText(detail)}</Fact>
        <Fact name="At its price">{detail.cost_usd && formatExactUsd(detail.cost_usd)}</Fact>
        <Fact name="Provider’s cost">{detail.provider_cost_usd && toProviderCostText(detail)}</Fact>
        <Fact name="Earned">{detail.earned_usd && formatExactUsd(detail.earned_usd)}</Fact>
        <Fact name="Saved by caches">{detail.cache_saved_usd && formatExactUsd(detail.cache_saved_usd)}</Fact>
        <Fact name="The provider on its cache">{detail.cache_report}</Fact>
        <Fact name="Hold">{toHoldText(detail)}</Fact>
        <Fact name="Price version">{detail.charge === null && detail.price_version}</Fact>
        <Fact name="Ignored fields">{ignored.join(", ") || null}</Fact>
        <Fact name="Lowered fields">{toPairs(lowered)}</Fact>
        <Fact name="Cache marks">{detail.cache_marks && cacheMarks[detail.cache_marks]}</Fact>
        <Fact name="Policies">{detail.policies.map(toPolicySentence).join("; ") || null}</Fact>
        <Fact name="Node">{detail.node}</Fact>
      </dl>
      {detail.charge !== null && <ChargeSum charge={detail.charge} changedBy={detail.price_changed_by} />}
      {parts.map((Part) => (
        <Part key={Part.name} request={detail} />
      ))}
      {(attempts.length > 0 || detail.runs.length > 1) && <Timeline detail={detail} />}
      {warnings.length > 0 && (
        <div>
          <h3>Warnings of the provider</h3>
          <ul className="soft">
            {warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

/** Says what the gateway did about marks for the provider's cache. */
const cacheMarks: Readonly<Record<NonNullable<RequestDetail["cache_marks"]>, string>> = {
  marked: "By the gateway",
  short: "None: the prompt is too short",
  losing: "Stopped for a day: they cost more than they saved",
  refused: "Refused by the provider",
};

/** The client's request, as far as the log knows it: the prompt is not kept. */
function toCurl({ model, model_name: name }: RequestDetail, baseUrl: string): string {
  return createSnippet("curl", { baseUrl, key: "YOUR_API_KEY", model: name ?? model ?? "" });
}

/** The attempts at providers in their order, and the models that a call fell back to, as one story. */
function Timeline({ detail }: { detail: RequestDetail }) {
  const { failed_attempts: attempts, runs, id } = detail;
  const place = runs.findIndex((run) => run.id === id);
  return (
    <div>
      <h3>Attempts</h3>
      <ol className="attempts">
        {runs.slice(0, Math.max(0, place)).map((run) => (
          <Run key={run.id} run={run} />
        ))}
        {attempts.map(({ plugin, error, status, duration_ms, message }, attempt) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change
          <li key={attempt}>
            <strong>{plugin}</strong> <span className="badge is-bad">{[status, error].filter(Boolean).join(" ")}</span>{" "}
            <span className="faint">after {formatMs(duration_ms)}</span>
            {message !== null && <p className="soft break">{message}</p>}
          </li>
        ))}
        <li>
          <strong>{detail.plugin ?? "no provider"}</strong> <CallStatus call={detail} />{" "}
          <span className="faint">{formatMs(detail.duration_ms)} in all</span>
        </li>
        {runs.slice(place + 1).map((run) => (
          <Run key={run.id} run={run} />
        ))}
      </ol>
    </div>
  );
}

/** An attempt of the same call with another model. */
function Run({ run: { id, model, plugin, status, error_code } }: { run: RequestDetail["runs"][number] }) {
  const nameOf = useModelNames();
  return (
    <li>
      <LinkButton onClick={() => filterBy("request", id)}>{model === null ? id : nameOf(model)}</LinkButton>{" "}
      <span className={error_code === null ? "badge is-good" : "badge is-bad"}>
        {[status, error_code].filter(Boolean).join(" ")}
      </span>{" "}
      <span className="faint">another model of the same call{plugin === null ? "" : `, at ${plugin}`}</span>
    </li>
  );
}

function toMeterLines(detail: RequestDetail): string[] {
  const lines = meterNames.flatMap((name) => {
    const { column, amount } = meters[name];
    const count = column === undefined ? null : (detail[column] as number | null);
    return count ? [`${formatCount(count)} ${amount}`] : [];
  });
  return detail.usage_source === "estimated" && lines.length > 0 ? [...lines, "estimated"] : lines;
}

function toPairs(fields: Readonly<Record<string, number>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name} = ${formatCount(value)}`)
    .join(", ");
}
