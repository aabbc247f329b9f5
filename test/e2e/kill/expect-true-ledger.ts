import { expect } from "bun:test";
import type { Store } from "../../../src/db/index.ts";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { type CatalogueRow, catalogueRow } from "../../support/catalogue.ts";
import type { Clients } from "./clients.ts";
import { type MeteredProvider, usageOf } from "./metered-provider.ts";

/**
 * Compares the ledger with what the provider served and what the clients have. After all is at rest:
 *
 * 1. An answer that a client has to its last byte is settled, by the provider's figures, in the row that its
 *    `x-request-id` names.
 * 2. No call is settled twice, and none that the provider did not serve, or by other figures than the provider's.
 * 3. A call that the provider served and no client has to its end (somebody died on the way) is either settled by the
 *    provider's figures, or ended without a charge: `abandoned`, or `released`. It is never charged in another way.
 * 4. No call reached the provider without its row, nor twice.
 * 5. Wallets, quotas and sums are those of the rows: `ledger verify`.
 *
 * @returns How many calls were settled, and how many the provider served that nobody pays for.
 */
export async function expectTrueLedger(
  store: Store,
  { provider, clients }: { provider: MeteredProvider; clients: Clients },
): Promise<{ settled: number; unpaid: number }> {
  const rows = await store.db
    .selectFrom("calls")
    .select(["id", "state", "model", "input_tokens", "output_tokens", "usage_source"])
    .select(["cost_nanodollars", "charged_nanodollars", "quota_tokens"])
    .execute();
  const settled = rows.filter(({ state }) => state === "settled");
  const byNumber = new Map(settled.map((row) => [row.input_tokens as number, row]));
  // 2. The input tokens are the call's number.
  expect(byNumber.size).toBe(settled.length);
  expect(settled.filter((row) => !isAsServed(row, provider))).toEqual([]);
  // 1.
  const states = new Map(rows.map(({ id, state }) => [id, state]));
  const lost = [...clients.delivered].filter(([number, id]) => byNumber.get(number)?.id !== id);
  expect(lost.map(([number, id]) => [number, id, states.get(id) ?? "has no row"])).toEqual([]);
  // 3.
  const unsettled = rows.filter(({ state }) => state !== "settled");
  expect(unsettled.filter((row) => row.charged_nanodollars || row.quota_tokens)).toEqual([]);
  // 4.
  expect([...provider.asked].filter(([, times]) => times > 1)).toEqual([]);
  const open = await store.db.selectFrom("open_calls").select("id").execute();
  expect(provider.asked.size).toBeLessThanOrEqual(rows.length + open.length);
  // 5.
  expect((await verifyLedger(store)).differences).toEqual([]);
  return { settled: settled.length, unpaid: provider.asked.size - settled.length };
}

/** What a settled call was charged by. */
export interface SettledRow {
  model: string;
  input_tokens: number | null;
  output_tokens: number | null;
  usage_source: string | null;
  charged_nanodollars: number | null;
  quota_tokens: number | null;
}

/** Usage as a provider reports it. */
export interface ReportedUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

function isAsServed(row: SettledRow, { asked }: MeteredProvider): boolean {
  const number = row.input_tokens as number;
  return asked.has(number) && isChargedAs(row, usageOf(number));
}

const rowsOfModels = new Map<string, CatalogueRow>();

function rowOf(model: string): CatalogueRow {
  const row = rowsOfModels.get(model) ?? catalogueRow(model);
  rowsOfModels.set(model, row);
  return row;
}

const nanodollarsOf = (usd = "0") => Math.round(Number(usd) * 1000);

/** Whether a call has this usage, as its provider reported it, and is charged by it. */
export function isChargedAs(
  row: SettledRow,
  { prompt_tokens, completion_tokens, total_tokens }: ReportedUsage,
): boolean {
  if (row.usage_source !== "reported") return false;
  if (row.input_tokens !== prompt_tokens || row.output_tokens !== completion_tokens) return false;
  const { premium, price } = rowOf(row.model);
  if (!premium) return row.charged_nanodollars === 0 && row.quota_tokens === total_tokens;
  const cost =
    prompt_tokens * nanodollarsOf(price?.inputToken?.usd) + completion_tokens * nanodollarsOf(price?.outputToken?.usd);
  return row.charged_nanodollars === cost;
}
