import { toName } from "../../contract/index.ts";
import { isRecord, readJson } from "../../lib/json.ts";
import { UsageError } from "../command.ts";
import { UnreachableError } from "../unreachable.ts";
import type { Losses, TableRules } from "./losses.ts";
import { toBudget, toNanodollars } from "./plan.ts";
import { forbidsAll, type PlannedBudget, type Restriction, unrestricted } from "./restrictions.ts";

/** A key of OpenRouter. OpenRouter does not reveal the secret, so a new key is created in its place. */
export interface OpenRouterKey {
  /** Its hash there. */
  readonly ref: string;
  readonly name: string;
  readonly restriction: Restriction;
  readonly expiresAt: number | undefined;
}

/** Fields of a key that the import understands, by OpenRouter's reference of `GET /keys`. */
const openRouterKeyRules: TableRules = {
  used: ["hash", "name", "disabled", "limit", "limit_reset", "usage", "expires_at", "creator_user_id"],
  harmless: [
    ...["label", "created_at", "updated_at", "limit_remaining", "include_byok_in_limit", "workspace_id"],
    ...["usage_daily", "usage_weekly", "usage_monthly"],
    ...["byok_usage", "byok_usage_daily", "byok_usage_weekly", "byok_usage_monthly"],
  ],
};

const pageSize = 100;
const rowsMax = 10_000;
const answerMsMax = 20_000;
const days: Readonly<Record<string, number>> = { daily: 1, weekly: 7, monthly: 30 };

interface Source {
  readonly baseUrl: string;
  readonly managementKey: string;
}

/**
 * Reads the keys that are in use by OpenRouter's API. Those with a restriction that cannot be carried over are left out, unless it
 * is accepted that they lose it.
 *
 * @throws {UsageError} When it does not answer as it should.
 */
export async function readOpenRouterKeys(source: Source, losses: Losses, now: number): Promise<OpenRouterKey[]> {
  const rows = await readRows(source, "keys");
  const guarded = await readGuarded(source);
  const keys: OpenRouterKey[] = [];
  const leftOut = new Map<string, string[]>();
  for (const row of rows) {
    const name = (typeof row.name === "string" ? toName(row.name) : undefined) ?? "key";
    const note = (text: string) => losses.note(`Key ${name} ${text}`);
    const expiresAt = readTime(row);
    const restriction = { ...unrestricted, budgets: readBudgets(row, note) };
    const reason = whyUnusable(row, { expiresAt, restriction, now });
    if (reason !== undefined) {
      leftOut.set(reason, [...(leftOut.get(reason) ?? []), name]);
      continue;
    }
    const ref = String(row.hash);
    const effect = "the keys that it concerns are left out here";
    const holds = losses.examine("keys", { row, owner: `Key ${name}`, rules: openRouterKeyRules, effect });
    if (guarded === undefined || guarded.has(ref) || guarded.has(String(row.creator_user_id))) {
      if (losses.lose("keys.guardrails", `Key ${name}`, { effect })) holds.push("keys.guardrails");
    }
    if (holds.length === 0) keys.push({ ref, name, restriction, expiresAt });
  }
  for (const [reason, names] of leftOut) {
    const rest = names.length > 3 ? ", …" : "";
    losses.note(`${names.length} keys are left out, which ${reason}: ${names.slice(0, 3).join(", ")}${rest}`);
  }
  return keys;
}

function whyUnusable(
  row: Record<string, unknown>,
  { expiresAt, restriction, now }: { expiresAt: number | undefined; restriction: Restriction; now: number },
): string | undefined {
  if (row.disabled === true) return "are disabled there";
  if (typeof row.hash !== "string" || row.hash === "")
    return "have no hash, so the next import could not recognize them";
  if (expiresAt !== undefined && expiresAt <= now) return "have expired";
  return forbidsAll(restriction) ? "may not spend anything any more" : undefined;
}

/**
 * Hashes of keys, and ids of their creators, that have a guardrail: a budget, models or providers. Undefined if the
 * guardrails cannot be read: any key may have one then.
 */
async function readGuarded(source: Source): Promise<ReadonlySet<string> | undefined> {
  try {
    const keys = await readRows(source, "guardrails/assignments/keys");
    const members = await readRows(source, "guardrails/assignments/members");
    return new Set([
      ...keys.map(({ key_hash: hash }) => String(hash)),
      ...members.map(({ user_id: id }) => String(id)),
    ]);
  } catch (error) {
    if (error instanceof UsageError || error instanceof UnreachableError) return undefined;
    throw error;
  }
}

async function readRows({ baseUrl, managementKey }: Source, path: string): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (let offset = 0; offset < rowsMax; offset += pageSize) {
    const url = `${baseUrl.replace(/\/$/, "")}/${path}?offset=${offset}&limit=${pageSize}`;
    const page = await readPage(url, managementKey);
    rows.push(...page);
    if (page.length < pageSize) return rows;
  }
  throw new UsageError(`OpenRouter has more than ${rowsMax} rows of ${path}, which is the limit of one import`);
}

async function readPage(url: string, managementKey: string): Promise<Record<string, unknown>[]> {
  let body: unknown;
  try {
    const headers = { authorization: `Bearer ${managementKey}` };
    const response = await fetch(url, { headers, redirect: "error", signal: AbortSignal.timeout(answerMsMax) });
    if (!response.ok) throw new UsageError(`OpenRouter answered ${response.status}: is it a management key?`);
    body = readJson(await response.text(), "file");
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UnreachableError(`OpenRouter could not be read: ${(error as Error).message}`);
  }
  if (isRecord(body) && Array.isArray(body.data)) return body.data.filter(isRecord);
  throw new UsageError("OpenRouter's answer has no list of rows");
}

/** A limit that cannot be read is one of nothing. */
function readBudgets(row: Record<string, unknown>, note: (message: string) => void): PlannedBudget[] {
  if (row.limit === null || row.limit === undefined) return [];
  const reset = row.limit_reset ?? undefined;
  const period = days[String(reset)];
  if (reset !== undefined && period === undefined)
    note(`has a limit with the unknown period ${reset}: here it never resets`);
  const spent = toNanodollars(row.usage) ?? 0;
  return [toBudget({ limit: toNanodollars(row.limit) ?? 0, spent, days: period }, note)];
}

/** An end that cannot be read may be over. */
function readTime({ expires_at: text }: Record<string, unknown>): number | undefined {
  if (text === null || text === undefined) return undefined;
  const at = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? 0 : at;
}
