import { type Budget, type BudgetState, type Caller, GatewayError, type LimitsUsage } from "../../contract/index.ts";
import { ownBudgetId } from "../../db/index.ts";
import type { HttpDeps } from "../deps.ts";
import { keyRoute } from "../lifecycle/call-routes.ts";
import { dataHeaders } from "../lifecycle/headers.ts";
import { belowBaseUrls, type Route } from "../lifecycle/route.ts";
import { managedSettingsRoute } from "./managed-settings.ts";

/** Claude Code asks for these of a gateway that it is signed in to: below its base URL, whichever that is. */
export function gatewaySessionController(deps: HttpDeps): Route[] {
  return belowBaseUrls(deps.config, [usageRoute(deps), managedSettingsRoute(deps)]);
}

/** Takes what agents report by OTLP and drops it: it has prompts where its person switched that on. */
export function telemetryController(deps: HttpDeps): Route[] {
  return ["/metrics", "/logs", "/traces"].map((path) =>
    keyRoute(deps, {
      method: "POST",
      path,
      answer: ({ request }) => Response.json({}, { headers: dataHeaders(request) }),
    }),
  );
}

const nanodollarsPerCent = 10_000_000;
const groups: Partial<Record<Budget["period"], string>> = { day: "daily", week: "weekly", month: "monthly" };

/** GET /api/oauth/usage: the budget of the key, otherwise of its account, in cents; 404 without one. */
function usageRoute(deps: HttpDeps): Route {
  return keyRoute(deps, {
    method: "GET",
    path: "/api/oauth/usage",
    answer: async ({ request, call: { caller } }) => {
      const state = findOwnBudget(caller, await deps.ledger.readLimitsUsage(caller));
      const group = state && groups[state.budget.period];
      if (state?.resetsAt === undefined || group === undefined) {
        throw new GatewayError("not_found", "Neither this key nor its account has a budget of a day, week or month");
      }
      return Response.json(toUsageJson(state, group, state.resetsAt), { headers: dataHeaders(request) });
    },
  });
}

/** The budget that a person sees: the key's own, otherwise its account's. */
export function findOwnBudget(caller: Caller, { budgets }: LimitsUsage): BudgetState | undefined {
  const find = (owner: string) => budgets.find(({ budget }) => budget.id === ownBudgetId(owner));
  return find(caller.keyId) ?? find(caller.accountId);
}

function toUsageJson(
  { limitNanodollars, spentNanodollars, heldNanodollars }: BudgetState,
  group: string,
  resetsAt: number,
) {
  const usedNanodollars = spentNanodollars + heldNanodollars;
  const percent = limitNanodollars === 0 ? 100 : Math.floor((usedNanodollars / limitNanodollars) * 100);
  const limit = Math.floor(limitNanodollars / nanodollarsPerCent);
  const used = Math.ceil(usedNanodollars / nanodollarsPerCent);
  const none = { monthly_limit: null, utilization: null };
  return {
    extra_usage: {
      is_enabled: true,
      used_credits: used,
      currency: "USD",
      ...(group === "monthly"
        ? { monthly_limit: limit, utilization: percent }
        : { ...none, [group]: { limit, used_credits: used, utilization: percent } }),
    },
    limits: [
      {
        kind: "spend",
        group,
        percent,
        resets_at: new Date(resetsAt).toISOString(),
        severity: percent >= 95 ? "critical" : percent >= 75 ? "warning" : "normal",
        is_active: true,
      },
    ],
  };
}
