import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Budget, type BudgetState, GatewayError } from "../../contract/index.ts";
import { ownBudgetId } from "../../db/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import type { HttpDeps } from "../deps.ts";
import { keyRoute } from "../lifecycle/call-routes.ts";
import { dataHeaders } from "../lifecycle/headers.ts";
import { belowBaseUrls, type Route } from "../lifecycle/route.ts";

/** Claude Code asks for these of a gateway that it is signed in to: below its base URL, whichever that is. */
export function gatewaySessionController(deps: HttpDeps): Route[] {
  return belowBaseUrls(deps.config, [usageRoute(deps), settingsRoute(deps)]);
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
      const { budgets } = await deps.ledger.readLimitsUsage(caller);
      const find = (owner: string) => budgets.find(({ budget }) => budget.id === ownBudgetId(owner));
      const state = find(caller.keyId) ?? find(caller.accountId);
      const group = state && groups[state.budget.period];
      if (state?.resetsAt === undefined || group === undefined) {
        throw new GatewayError("not_found", "Neither this key nor its account has a budget of a day, week or month");
      }
      return Response.json(toUsageJson(state, group, state.resetsAt), { headers: dataHeaders(request) });
    },
  });
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

/** Settings that the owner puts into the home folder: they can run commands on the machines of developers. */
const managedSettingsFile = "managed-settings.json";

/** GET /managed/settings: 404 without the owner's file. */
function settingsRoute(deps: HttpDeps): Route {
  return keyRoute(deps, {
    method: "GET",
    path: "/managed/settings",
    answer: async ({ request }) => {
      const settings = await readSettings(join(deps.config.home, managedSettingsFile));
      if (settings === undefined) throw new GatewayError("not_found", "This gateway has no managed settings");
      const checksum = `sha256:${createHash("sha256")
        .update(JSON.stringify(sortKeys(settings)))
        .digest("hex")}`;
      const headers = { ...dataHeaders(request), etag: `"${checksum}"`, vary: "user-agent" };
      const match = request.headers.get("if-none-match");
      if (match === "*" || match === headers.etag) return new Response(null, { status: 304, headers });
      return Response.json({ uuid: checksum, checksum, settings }, { headers });
    },
  });
}

/** @throws {GatewayError} `unavailable` when the file is there and no JSON object: no policy at all would be worse. */
async function readSettings(path: string): Promise<object | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if ((cause as { code?: string }).code === "ENOENT") return undefined;
    throw new GatewayError("unavailable", `${managedSettingsFile} cannot be read; tell the operator`, { cause });
  }
  const settings = parseJson(text, "file");
  if (isRecord(settings)) return settings;
  throw new GatewayError("unavailable", `${managedSettingsFile} is no JSON object; tell the operator`);
}

/** Keys in order at every level, as the client makes its checksum. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sortKeys(inner)]));
}
