import { expect, test } from "bun:test";
import { toChargeText, toHoldText } from "../../../../src/dashboard/features/requests/charge-sum.tsx";

const paid = { premium: true, charged_usd: "0.0051625", quota_tokens: null, hold_usd: "0.00397", hold_tokens: 0 };

test("a charge has all of its decimals, as in its sum", () => {
  expect(toChargeText({ ...paid, state: "settled" })).toBe("$0.0051625");
  expect(toHoldText({ ...paid, state: "settled" })).toBe("$0.00397");
});

test("a call that failed was charged nothing, and its hold was given back", () => {
  const released = { ...paid, charged_usd: null, state: "released" } as const;
  expect(toChargeText(released)).toBe("$0.00");
  expect(toHoldText(released)).toBe("held $0.00397, given back");
  const free = { ...released, premium: false, hold_usd: "0", hold_tokens: 1200 };
  expect(toHoldText(free)).toBe("held 1,200 tokens of the free quota, given back");
});

test("a call that runs has no charge yet", () => {
  expect(toChargeText({ ...paid, charged_usd: null, state: "open" })).toBeNull();
});
