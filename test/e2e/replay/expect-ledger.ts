import { expect } from "bun:test";
import { type CatalogueRow, costOf, sum } from "../../support/catalogue.ts";
import type { CallRow } from "../../support/ledger-view.ts";
import type { SaidUsage } from "../../support/said.ts";

/** What the ledger must say of a call that was answered: state, plugin and the exact cost of what was used. */
export function expectSettled(call: CallRow, row: CatalogueRow, plugin: string): void {
  expect(call).toMatchObject({ model: row.id, capability: row.capability, state: "settled", status: 200, plugin });
  expectCost(call, row);
}

/** What a call costs follows from its meters and the catalogue, and only a premium one is paid from the wallet. */
export function expectCost(call: CallRow, row: CatalogueRow): void {
  const cost = costOf(row, call);
  expect(call.cost_nanodollars).toEqual(cost === null ? null : Number(cost));
  expect(call.premium).toBe(row.premium ? 1 : 0);
  if (row.premium) expect(call.charged_nanodollars).toBe(Number(cost));
  else expect(call.charged_nanodollars ?? 0).toBe(0);
}

/** The call's meters are the recorded usage, disjoint; what the provider did not report is estimated and not zero. */
export function expectTokens(call: CallRow, usage: SaidUsage | undefined): void {
  if (usage === undefined) {
    expect(call.usage_source).toBe("estimated");
    expect(call.input_tokens).toBeGreaterThan(0);
    return;
  }
  const [cached, written] = [usage.cached ?? 0, usage.written ?? 0];
  expect({ ...tokensOf(call), source: call.usage_source }).toEqual({
    input: usage.prompt - cached - written,
    cached,
    written,
    writtenForHour: usage.writtenForHour ?? 0,
    output: usage.completion,
    source: "reported",
  });
}

function tokensOf(call: CallRow) {
  return {
    input: sum(call.input_tokens, call.audio_input_tokens),
    cached: call.cache_read_tokens ?? 0,
    written: (call.cache_write_tokens ?? 0) + (call.cache_write_1h_tokens ?? 0),
    writtenForHour: call.cache_write_1h_tokens ?? 0,
    output: sum(call.output_tokens, call.audio_output_tokens, call.image_output_tokens),
  };
}
