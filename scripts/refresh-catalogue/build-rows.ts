import type { Capability } from "../../src/contract/index.ts";
import { type Model, withoutModelFacts } from "../../src/provider/index.ts";
import type { Listed } from "./price-list.ts";
import { listedFacts, type ProviderRules } from "./provider-rules.ts";
import { successors } from "./rules.ts";

const capabilityOf: Readonly<Record<string, Capability>> = {
  chat: "chat",
  responses: "chat",
  embedding: "embeddings",
  image_generation: "images",
  audio_transcription: "transcription",
  audio_speech: "speech",
  rerank: "rerank",
};

/** Time that a retired model stays in the catalogue, to let its callers learn its successor. */
const keptMs = 365 * 86_400_000;

/** The rows of one provider, and why other models of it are not among them. */
export interface BuiltRows {
  readonly rows: readonly Model[];
  readonly leftOut: ReadonlyMap<string, string>;
}

/** Inputs of the rows other than the price list. */
export interface BuildOptions {
  /** `2026-11-23`. */
  readonly today: string;
  /** The names that other rows have, and the ids of those rows. */
  readonly taken: ReadonlyMap<string, string>;
  /** The rows of the last refresh. */
  readonly before: readonly Model[];
}

/** Builds the rows of the models that a provider sells today, by the price list and the rules of the provider. */
export function buildRows(
  list: Readonly<Record<string, Listed>>,
  rules: ProviderRules,
  { today, taken: owners, before }: BuildOptions,
): BuiltRows {
  const leftOut = new Map<string, string>();
  const rows = new Map<string, Model>((rules.extra ?? []).map((row) => [row.id, row]));
  const rowsBefore = new Map(before.map((row) => [row.id, row]));
  const snapshots: [string, string][] = [];
  for (const [name, listed] of Object.entries(list)) {
    const capability = capabilityOf[listed.mode ?? ""];
    if (listed.litellm_provider !== rules.provider || capability === undefined || !isName(name, rules)) continue;
    const listedId = name.slice(rules.prefix.length);
    const names = rules.names?.(listedId) ?? { id: listedId, upstreamId: listedId };
    const { upstreamId } = names;
    const id = `${rules.idPrefix ?? ""}${names.id}`;
    if (rows.has(id)) continue;
    const owner = owners.get(id);
    const reason = findReason(listedId, listed, capability, { rules, today, owner });
    const before = rowsBefore.get(id);
    const row =
      reason === undefined ? toRow({ id, upstreamId }, listed, capability, { rules, today, before }) : undefined;
    if (row !== undefined) rows.set(id, row);
    else leftOut.set(id, reason ?? "the list has no price of it");
    if (row !== undefined && toBase(id) !== id) snapshots.push([id, toBase(id)]);
  }
  for (const [id, base] of snapshots) addSnapshot(rows, id, base);
  keepRetired(rows, before, today);
  // Facts of a model are declared once for all its providers, so the rows leave them out.
  const own = [...rows.values()].map(withoutModelFacts);
  return { rows: own.sort((a, b) => (a.id < b.id ? -1 : 1)), leftOut };
}

/** Some models are in the list twice, with and without their provider's prefix. */
function isName(name: string, { prefix }: ProviderRules): boolean {
  return name.startsWith(prefix) && !/^\d+-x-|\/\d+-x-/.test(name);
}

function findReason(
  id: string,
  { mode, deprecation_date: end, supported_endpoints: endpoints }: Listed,
  capability: Capability,
  { rules, today, owner }: { rules: ProviderRules; today: string; owner: string | undefined },
): string | undefined {
  if (owner !== undefined) return `it is sold as ${owner}`;
  if (end !== undefined && end <= today) return `its provider ended it on ${end}`;
  const matched = rules.leftOut.find(([pattern]) => pattern.test(id));
  if (matched !== undefined) return matched[1];
  if (mode === "chat" && endpoints !== undefined && !endpoints.includes("/v1/chat/completions")) {
    return "it is not served at /chat/completions";
  }
  return rules.capabilities.includes(capability) ? undefined : `the plugin has no ${capability} by this price`;
}

const features = [
  ["vision", "supports_vision"],
  ["tools", "supports_function_calling"],
  ["json_schema", "supports_response_schema"],
  ["pdf", "supports_pdf_input"],
] as const;

function toRow(
  { id, upstreamId }: Pick<Model, "id" | "upstreamId">,
  listed: Listed,
  capability: Capability,
  { rules, today, before }: { rules: ProviderRules; today: string; before: Model | undefined },
): Model | undefined {
  const { price, ...facts } = rules.facts?.(upstreamId, listed, capability) ?? listedFacts(listed, capability);
  if (price === undefined) return undefined;
  const isChat = capability === "chat";
  // Audio that costs more than text needs a rate of its own.
  const textUsd = listed.input_cost_per_token;
  const isPriced = price.audioInputToken !== undefined || (listed.input_cost_per_audio_token ?? textUsd) === textUsd;
  const hasAudio = listed.supports_audio_input === true && isPriced;
  const can = [
    ...features.flatMap(([feature, field]) => (listed[field] === true ? [feature] : [])),
    ...(hasAudio ? ["audio" as const] : []),
  ];
  const output = listed.max_output_tokens;
  const end = listed.deprecation_date;
  const row = {
    id,
    upstreamId,
    capability,
    premium: true,
    ...(listed.mode === "responses" && { endpoint: "responses" }),
    ...(isChat && output !== undefined && { outputTokensMax: Math.min(output, facts.contextTokens ?? output) }),
    ...(isChat && listed.supports_reasoning === true && { reasoning: true }),
    ...(isChat && can.length > 0 && { features: can }),
    ...(capability === "images" && { features: readImageFeatures(listed) }),
    ...facts,
    ownedBy: rules.ownedBy(upstreamId),
    created: before?.created ?? toCreated(upstreamId) ?? Date.parse(today) / 1000,
    price,
    ...(end !== undefined && { retiredOn: end }),
    ...(successors[id] !== undefined && { successor: successors[id] }),
    source: `${rules.pricingUrl}, by way of ${rules.list ?? "litellm"}`,
    checkedOn: today,
  };
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)) as unknown as Model;
}

/** Whether an image model edits; `undefined` when the list does not say where it is served. */
function readImageFeatures({ supported_endpoints: endpoints }: Listed): Model["features"] {
  if (endpoints === undefined) return undefined;
  return endpoints.includes("/v1/images/edits") ? ["edits"] : [];
}

/** `gpt-5.5` for `gpt-5.5-2026-04-23`. */
function toBase(id: string): string {
  return id.replace(/-(\d{4}-\d{2}-\d{2}|20\d{6}|\d{4})$/, "");
}

function toCreated(id: string): number | undefined {
  const day = /-(20\d{2})-?(\d{2})-?(\d{2})$/.exec(id);
  const at = day === null ? Number.NaN : Date.parse(`${day[1]}-${day[2]}-${day[3]}`);
  return Number.isNaN(at) ? undefined : at / 1000;
}

/** A dated name of a model is an alias of its row where both cost the same and end on the same day. */
function addSnapshot(rows: Map<string, Model>, id: string, base: string): void {
  const [row, owner] = [rows.get(id), rows.get(base)];
  if (row === undefined || owner === undefined) return;
  const facts = ({ price, retiredOn, options }: Model) => JSON.stringify([price, retiredOn, options]);
  if (facts(row) !== facts(owner)) return;
  rows.delete(id);
  rows.set(base, { ...owner, aliases: [...(owner.aliases ?? []), id], created: toCreated(id) ?? owner.created });
}

function keepRetired(rows: Map<string, Model>, before: readonly Model[], today: string): void {
  for (const row of before) {
    if (rows.has(row.id) || row.retiredOn === undefined || row.retiredOn > today) continue;
    if (Date.parse(today) - Date.parse(row.retiredOn) < keptMs) rows.set(row.id, row);
  }
}
