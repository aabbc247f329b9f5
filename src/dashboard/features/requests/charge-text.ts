import { formatCount, formatExactUsd } from "../../format.ts";
import type { RequestDetail } from "./api.ts";

type Charge = Pick<RequestDetail, "state" | "premium" | "charged_usd" | "quota_tokens">;
type Hold = Pick<RequestDetail, "state" | "premium" | "hold_usd" | "hold_tokens">;

/** The charge with all decimals, as in its sum: one request has one figure. */
export function toChargeText({ state, premium, charged_usd: charged, quota_tokens: tokens }: Charge): string | null {
  if (state === "released") return formatExactUsd("0");
  if (state !== "settled") return null;
  if (premium) return charged === null ? "–" : formatExactUsd(charged);
  return tokens === null ? "–" : `${formatCount(tokens)} free tokens`;
}

/** The amount that was held for the request. A call that failed gave it back. */
export function toHoldText({ state, premium, hold_usd, hold_tokens }: Hold): string | null {
  if (hold_usd === null) return null;
  const hold = premium ? formatExactUsd(hold_usd) : `${formatCount(hold_tokens ?? 0)} tokens of the free quota`;
  return state === "released" ? `held ${hold}, given back` : hold;
}
