import { expect, test } from "bun:test";
import type { BudgetState } from "../../../../src/contract/index.ts";
import { toSpendHeaders } from "../../../../src/protocols/messages/spend-limit.ts";

function stateOf(spent: number, held: number, limit = 1000, resetsAt: number | undefined = 1_795_910_400_000) {
  return {
    limitNanodollars: limit,
    spentNanodollars: spent,
    heldNanodollars: held,
    resetsAt,
  } as BudgetState;
}

const prefix = "anthropic-ratelimit-unified-";

test.each([
  [0, 0, "allowed", "0", undefined],
  [700, 49, "allowed", "0.74", undefined],
  [700, 50, "allowed_warning", "0.75", "0.75"],
  [949, 0, "allowed_warning", "0.94", "0.75"],
  [950, 0, "allowed_warning", "0.95", "0.95"],
  [5000, 7, "allowed_warning", "0.99", "0.95"],
])("%i of 1000 spent and %i held are %s at %s", (spent, held, status, utilization, threshold) => {
  const headers = toSpendHeaders(stateOf(spent, held));
  expect(headers).toMatchObject({
    [`${prefix}status`]: status,
    [`${prefix}overage-status`]: status,
    [`${prefix}overage-utilization`]: utilization,
    [`${prefix}reset`]: "1795910400",
  });
  expect(headers?.[`${prefix}overage-surpassed-threshold`]).toBe(threshold);
});

test("a budget that never begins anew, or allows nothing, has no headers", () => {
  expect(toSpendHeaders({ ...stateOf(1, 0), resetsAt: undefined })).toBeUndefined();
  expect(toSpendHeaders(stateOf(0, 0, 0))).toBeUndefined();
});
