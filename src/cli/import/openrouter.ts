import type { SubjectBudget } from "../../contract/index.ts";
import { isRecord, readJson } from "../../lib/json.ts";
import { UsageError } from "../command.ts";
import { toBudget, toNanodollars } from "./plan.ts";

/** A key of OpenRouter, which does not give its text away: a new one is made in its place. */
export interface OpenRouterKey {
  readonly name: string;
  readonly budget: Pick<SubjectBudget, "limitNanodollars" | "period"> | undefined;
  readonly expiresAt: number | undefined;
}

const pageSize = 100;
const keysMax = 10_000;
const answerMsMax = 20_000;
const days: Readonly<Record<string, number>> = { daily: 1, weekly: 7, monthly: 30 };

/** Reads the keys that are in use by OpenRouter's API. @throws {UsageError} When it does not answer as it should. */
export async function readOpenRouterKeys(
  baseUrl: string,
  managementKey: string,
): Promise<{ keys: OpenRouterKey[]; notes: string[] }> {
  const keys: OpenRouterKey[] = [];
  const notes: string[] = [];
  for (let offset = 0; offset < keysMax; offset += pageSize) {
    const page = await readPage(`${baseUrl.replace(/\/$/, "")}/keys?offset=${offset}`, managementKey);
    for (const row of page) {
      const name = typeof row.name === "string" && row.name.trim() !== "" ? row.name.trim().slice(0, 200) : "key";
      if (row.disabled === true) {
        notes.push(`Key ${name} is disabled and left out`);
        continue;
      }
      keys.push({
        name,
        budget: readBudget(row, (text) => notes.push(`Key ${name} ${text}`)),
        expiresAt: readTime(row),
      });
    }
    if (page.length < pageSize) break;
  }
  return { keys, notes };
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
    throw new UsageError(`OpenRouter could not be read: ${(error as Error).message}`);
  }
  if (isRecord(body) && Array.isArray(body.data)) return body.data.filter(isRecord);
  throw new UsageError("OpenRouter's answer has no list of keys");
}

function readBudget(row: Record<string, unknown>, note: (message: string) => void) {
  if (row.limit === null || row.limit === undefined) return undefined;
  const limit = toNanodollars(row.limit);
  if (limit === undefined) return undefined;
  const spent = toNanodollars(row.usage) ?? 0;
  return toBudget({ limit, spent, days: days[String(row.limit_reset)] }, note);
}

function readTime({ expires_at: text }: Record<string, unknown>): number | undefined {
  const at = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}
