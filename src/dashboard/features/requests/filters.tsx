import { type FormEvent, useId, useState } from "react";
import { useAccounts } from "../../data/admin.ts";
import { listRanges, readChartSpan } from "../../data/time-range.ts";
import { Button } from "../../kit/button.tsx";
import { Select, SelectField } from "../../kit/field.tsx";
import { Icon } from "../../kit/icon.tsx";
import { DebouncedField, SpanFields, useDraft } from "../../kit/log.tsx";
import { setParams } from "../../kit/url-state.ts";
import { useKeys } from "../keys/api.ts";
import { useModels } from "../models/api.ts";
import { useStatistics } from "../statistics/api.ts";
import { exactStatuses, protocols } from "./filter-choices.ts";

const statuses = [
  ["", "Any status"],
  ["ok", "Succeeded"],
  ["failed", "Failed or refused"],
  ["refused", "Refused"],
  ["running", "Running"],
  ["4xx", "4xx"],
  ["5xx", "5xx"],
  ...exactStatuses.map((status) => [status, status] as const),
] as const;
/** The filters behind "More filters". */
const more = [
  ...(["key", "model", "plugin", "incident", "protocol", "error", "duration", "cost"] as const),
  ...(["session", "tag", "end_user", "agent", "account", "from", "until"] as const),
] as const;
/** Why requests fail most often; any other code can be typed. */
const errorCodes = [
  "insufficient_balance",
  "quota_exceeded",
  "budget_exceeded",
  "rate_limit_exceeded",
  "model_not_found",
  "model_not_allowed",
  "invalid_request",
  "context_length_exceeded",
  "upstream_error",
  "upstream_timeout",
];

interface FiltersProps {
  params: URLSearchParams;
  isAdmin: boolean;
}

export function Filters({ params, isAdmin }: FiltersProps) {
  const count = more.filter((name) => params.has(name)).length;
  const [isOpen, setOpen] = useState(count > 0);
  const id = useId();
  return (
    <>
      <div className="card-head is-ruled">
        <TextSearch value={params.get("text") ?? ""} onText={(text) => setParams({ text })} />
        <Select
          isSmall
          aria-label="Status"
          options={statuses}
          value={params.get("status") ?? ""}
          onText={(status) => setParams({ status })}
        />
        <Select
          isSmall
          aria-label="Time"
          options={listRanges}
          value={params.get("span") ?? ""}
          onText={(span) => setParams({ span, from: "", until: "" })}
        />
        <Button look="small" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
          {count === 0 ? "More filters" : `More filters (${count})`}
        </Button>
      </div>
      {isOpen && <MoreFilters id={id} params={params} isAdmin={isAdmin} />}
    </>
  );
}

function MoreFilters({ id, params, isAdmin }: FiltersProps & { id: string }) {
  const keys = useKeys().data?.data ?? [];
  const models = useModels().data?.data ?? [];
  const text = (name: string) => ({
    value: params.get(name) ?? "",
    onText: (value: string) => setParams({ [name]: value }),
  });
  const ownKeys = [["", "Any key"], ...keys.map((key) => [key.id, key.name] as const)] as const;
  return (
    <div id={id} className="filters">
      {isAdmin ? (
        <>
          <DebouncedField
            label="Account"
            placeholder="Name, email or ID"
            list={`${id}-accounts`}
            {...text("account")}
          />
          <AccountSuggestions id={`${id}-accounts`} text={params.get("account") ?? ""} />
          <DebouncedField label="API key" placeholder="ID of the key" {...text("key")} />
        </>
      ) : (
        <SelectField label="API key" options={ownKeys} {...text("key")} />
      )}
      <DebouncedField label="Model" list={`${id}-models`} {...text("model")} />
      <datalist id={`${id}-models`}>
        {models.map((model) => (
          <option key={model.id} value={model.name} />
        ))}
      </datalist>
      <DebouncedField label="Provider" list={`${id}-plugins`} {...text("plugin")} />
      <Suggestions id={`${id}-plugins`} group="plugin" />
      {isAdmin && <DebouncedField label="Incident of provider" list={`${id}-plugins`} {...text("incident")} />}
      <SelectField label="Protocol" options={protocols} {...text("protocol")} />
      <DebouncedField label="Error code" list={`${id}-errors`} {...text("error")} />
      <datalist id={`${id}-errors`}>
        {errorCodes.map((code) => (
          <option key={code} value={code} />
        ))}
      </datalist>
      <DebouncedField label="Slower than (ms)" inputMode="numeric" {...text("duration")} />
      <DebouncedField label="Costs more than (USD)" inputMode="decimal" {...text("cost")} />
      <DebouncedField label="Session" {...text("session")} />
      <DebouncedField label="Tag" list={`${id}-tags`} {...text("tag")} />
      <Suggestions id={`${id}-tags`} group="tag" />
      <DebouncedField label="End user" {...text("end_user")} />
      <DebouncedField label="Agent" {...text("agent")} />
      <SpanFields params={params} />
    </div>
  );
}

/** Accounts that a text may stand for, those that spend most first. */
function AccountSuggestions({ id, text }: { id: string; text: string }) {
  const { data } = useAccounts({ search: text, order: "spend", kind: "" }, 1);
  return (
    <datalist id={id}>
      {data?.data.map((account) => (
        <option key={account.id} value={account.name ?? account.label} label={account.email ?? undefined} />
      ))}
    </datalist>
  );
}

/** The values of the last 30 days that a field may be filled with, the most frequent first. */
function Suggestions({ id, group }: { id: string; group: "plugin" | "tag" }) {
  const { from, to } = readChartSpan(new URLSearchParams(), Date.now());
  const { data } = useStatistics({ from, to, interval: "day", group_by: group, metric: "requests" });
  const values = data?.groups.map(({ value }) => value).filter((value) => value !== "" && value !== "*") ?? [];
  return (
    <datalist id={id}>
      {values.map((value) => (
        <option key={value} value={value} />
      ))}
    </datalist>
  );
}

function TextSearch({ value, onText }: { value: string; onText: (text: string) => void }) {
  const [draft, setDraft] = useDraft(value);
  const apply = (event?: FormEvent) => {
    event?.preventDefault();
    if (draft.trim() !== value) onText(draft.trim());
  };
  return (
    <form className="search" onSubmit={apply}>
      <Icon name="search" size={16} />
      <input
        className="input"
        type="search"
        aria-label="Request ID"
        placeholder="Request ID, ours or the client's"
        maxLength={200}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onBlur={() => apply()}
      />
    </form>
  );
}
