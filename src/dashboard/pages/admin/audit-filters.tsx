import { Field, SelectField } from "../../ui/field.tsx";
import { type ChangeFilters, LateField, SpanFields, times } from "../../ui/filters.tsx";
import { actors } from "./audit-text.ts";

/** Actions by what they are done with; the whole group can be chosen as well. */
const groups: readonly (readonly [group: string, label: string, actions: Readonly<Record<string, string>>])[] = [
  [
    "account",
    "Accounts",
    {
      create: "Account created",
      change: "Name, email or role changed",
      invite: "Invitation created",
      credit: "Credit added",
      debit: "Credit deducted",
      quota: "Free quota set",
      disabled: "Disabled or enabled",
      password: "Password reset",
      sign_out: "Sessions ended",
    },
  ],
  ["user", "Sign-in", { sign_in: "Signed in", password: "Password changed" }],
  [
    "team",
    "Teams",
    {
      create: "Team created",
      rename: "Team renamed",
      invite: "Invited to a team",
      join: "Joined a team",
      switch: "Switched to another account",
      role: "Role in a team changed",
      remove: "Left or removed from a team",
      budget: "Budget of an account set",
      invitation_delete: "Invitation deleted",
    },
  ],
  [
    "content",
    "Prompts and answers",
    { view: "Content looked at", switch: "Keeping content switched", delete: "Content deleted" },
  ],
  ["key", "API keys", { create: "Key created", change: "Key changed", revoke: "Key revoked" }],
  ["voucher", "Vouchers", { create: "Voucher created", void: "Voucher voided" }],
  ["payment", "Payments", { refund: "Refund", dispute: "Dispute", dispute_won: "Dispute won" }],
  [
    "provider",
    "Providers",
    {
      add: "Provider added",
      set: "Provider enabled, disabled or ordered",
      remove: "Provider removed",
      key: "Provider's keys changed",
    },
  ],
  ["catalogue", "Catalogue", { change: "Catalogue changed" }],
  ["sandbox", "Sandbox", { set: "Sandbox set" }],
  [
    "alert",
    "Alerts",
    { rule: "Rule changed", channel: "Channel added", channel_delete: "Channel deleted", smtp: "Mail server changed" },
  ],
];

interface AuditFiltersProps {
  params: URLSearchParams;
  onChange: ChangeFilters;
}

export function AuditFilters({ params, onChange }: AuditFiltersProps) {
  const value = (name: string) => params.get(name) ?? "";
  const isCustom = ["from", "until"].some((name) => params.has(name)) || value("span") === "custom";
  return (
    <div className="filters">
      <LateField
        label="Actor"
        placeholder="Email or account ID"
        list="audit-actors"
        value={value("actor")}
        onText={(actor) => onChange({ actor })}
      />
      <datalist id="audit-actors">
        {Object.entries(actors).map(([actor, label]) => (
          <option key={actor} value={actor} label={label} />
        ))}
      </datalist>
      <Field label="Action">
        {(control) => (
          <select
            {...control}
            className="input"
            value={value("action")}
            onChange={({ target }) => onChange({ action: target.value })}
          >
            <option value="">Any action</option>
            {groups.map(([group, label, actions]) => (
              <optgroup key={group} label={label}>
                <option value={group}>{label}: all</option>
                {Object.entries(actions).map(([action, name]) => (
                  <option key={action} value={`${group}.${action}`}>
                    {name}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
        )}
      </Field>
      <LateField
        label="Target"
        placeholder="Email, or the ID of anything"
        value={value("subject")}
        onText={(subject) => onChange({ subject })}
      />
      <SelectField
        label="Time"
        options={[...times, ["custom", "Custom"]]}
        value={isCustom ? "custom" : value("span")}
        onText={(span) => onChange({ span, from: "", until: "" })}
      />
      {isCustom && <SpanFields {...{ params, onChange }} />}
    </div>
  );
}
