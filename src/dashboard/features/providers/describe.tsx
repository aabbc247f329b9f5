import { Link } from "wouter";
import { formatShare } from "../../format.ts";

const statuses: Record<string, readonly [string, string]> = {
  serving: ["serving", "badge is-good"],
  previous: ["serving last good version", "badge is-warn"],
  no_credential: ["no API key", "badge"],
  no_models: ["no models", "badge is-warn"],
  disabled: ["disabled", "badge"],
  sandbox: ["simulated", "badge is-accent"],
  refused: ["not loaded", "badge is-bad"],
};

/** Label and badge by the state of the circuit breaker. */
export const circuits: Record<string, readonly [string, string]> = {
  closed: ["works", "badge is-good"],
  half_open: ["waiting", "badge is-warn"],
  open: ["paused", "badge is-bad"],
};

/** The page of a provider. */
export const toProviderPath = (name: string): string => `/admin/providers/${encodeURIComponent(name)}`;

export function ProviderStatus({ status }: { status: string }) {
  const [label, badge] = statuses[status] ?? [status, "badge"];
  return <span className={badge}>{label}</span>;
}

export function CircuitState({ state }: { state: string | null }) {
  if (state === null) return <span className="soft">not in use</span>;
  const [label, badge] = circuits[state] ?? [state, "badge"];
  return <span className={badge}>{label}</span>;
}

/** `3 (1.5 %)`; a dash without calls. */
export function describeErrors({ calls, errors }: { calls: number; errors: number }): string {
  if (calls === 0) return "–";
  return errors === 0 ? "0" : `${errors} (${formatShare(errors / calls)})`;
}

/** The same as a link to the failed requests of a provider, and perhaps of one of its models. */
export function ErrorsLink({
  of,
  plugin,
  model,
}: {
  of: { calls: number; errors: number };
  plugin: string;
  model?: string;
}) {
  if (of.errors === 0) return describeErrors(of);
  const params = new URLSearchParams({ plugin, ...(model !== undefined && { model }), status: "failed" });
  return <Link href={`/requests?${params}`}>{describeErrors(of)}</Link>;
}
