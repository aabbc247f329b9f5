import {
  type AttemptCount,
  healthStates,
  type ProviderHealth,
  readHealth,
  toErrorJson,
  toTestJson,
} from "../../providers/index.ts";
import type { HttpDeps } from "../deps.ts";
import { toIso } from "../forms/serializers.ts";
import { withAdminSession, withSession } from "../lifecycle/session.ts";

/**
 * GET /dashboard/api/admin/health: the state of every provider that serves models, the worst first, for owners,
 * administrators and viewers. `data[]` is
 *
 * - `provider`: its name; `state`: `refused`, `failing`, `degraded`, `unknown` or `working`;
 * - `reason`: one sentence, and `since`: ISO 8601; both `null` if the provider works or nothing is known;
 * - `last_error`: `{ at, kind, status, message, model }` in the provider's own words, or `null`;
 * - `last_test`: `{ at, ok, model, ms, error, note }`, or `null`;
 * - `strip`: the attempts of the last 24 hours as 48 bars `{ attempts, errors }`, the oldest first;
 * - `keys[]`: `{ id, state, reason, last_error, last_test }`;
 * - `models`, `routes`, `paused_routes`, `waiting_routes`: counts; the next call tries a waiting route, whose pause is over;
 * - `paused_until`: when the first paused route takes a call again, or `null`.
 *
 * `count` is the number of providers in each state. The badge shows `count.refused + count.failing`.
 */
export function adminHealthController(deps: HttpDeps) {
  const route = withAdminSession(deps, "/admin/health");
  return [
    route.get("", () => {
      const all = readSorted(deps);
      const count = { refused: 0, failing: 0, degraded: 0, unknown: 0, working: 0 };
      for (const { state } of all) count[state]++;
      return { data: all.map((one) => toHealthJson(deps, one)), count };
    }),
  ];
}

/**
 * GET /dashboard/api/status: the same for everybody who is signed in, without errors, keys and what concerns the operator's
 * accounts: a provider that refuses the gateway's key is `failing`, and one whose calls succeed in part is `degraded`.
 * `failed_share` is the share of its latest attempts that failed, `null` without any. `models` are those that only failing
 * providers serve. `paused_until` is as above; `waiting` says that the next call tries its paused routes.
 */
export function statusController(deps: HttpDeps) {
  const route = withSession(deps, "/status");
  return [
    route.get("", () => {
      const all = readSorted(deps);
      const recentOf = ({ provider }: ProviderHealth) => deps.providers.health.recent(provider);
      const isInPart = (one: ProviderHealth) => {
        const { attempts, errors } = recentOf(one);
        return one.state === "failing" && errors < attempts && one.pausedRoutes + one.waitingRoutes < one.routes;
      };
      const isWaiting = (one: ProviderHealth) => one.waitingRoutes > 0 && one.pausedRoutes === 0;
      const isDown = (one: ProviderHealth) =>
        one.state === "refused" || (one.state === "failing" && !isInPart(one) && !isWaiting(one));
      const served = new Set(all.filter((one) => !isDown(one)).flatMap(({ models }) => models));
      return {
        data: all.map((one) => ({
          provider: one.provider,
          state: one.state === "refused" ? ("failing" as const) : isInPart(one) ? ("degraded" as const) : one.state,
          failed_share: toShare(recentOf(one)),
          since: toIso(one.since),
          paused_until: toIso(one.pausedUntil),
          waiting: isWaiting(one),
          strip: deps.providers.health.strip(one.provider),
          models: isDown(one) ? one.models.filter((id) => !served.has(id)) : [],
        })),
      };
    }),
  ];
}

/**
 * GET /dashboard/api/admin/attention: how much needs somebody, for the navigation. `providers` are those that are failing or refuse
 * their key, and those that are degraded; `pages` are the matters of modules, by the path of the page that shows them.
 */
export function attentionController(deps: HttpDeps) {
  const route = withAdminSession(deps, "/admin/attention");
  return [
    route.get("", async () => {
      const states = readSorted(deps).map(({ state }) => state);
      const failing = states.filter((state) => state === "refused" || state === "failing").length;
      return {
        providers: { failing, degraded: states.filter((state) => state === "degraded").length },
        pages: await deps.attention(),
      };
    }),
  ];
}

function toShare({ attempts, errors }: AttemptCount): number | null {
  return attempts === 0 ? null : errors / attempts;
}

function readSorted({ providers, kernel }: HttpDeps): ProviderHealth[] {
  const rank = ({ state }: ProviderHealth) => healthStates.indexOf(state);
  return readHealth(providers, kernel.registry, kernel.now()).sort(
    (one, other) => rank(one) - rank(other) || (one.provider < other.provider ? -1 : 1),
  );
}

function toHealthJson({ providers }: HttpDeps, health: ProviderHealth) {
  const { provider, state, reason, since, last, keys, routes, models } = health;
  return {
    provider,
    state,
    reason: reason ?? null,
    since: toIso(since),
    routes,
    models: models.length,
    paused_routes: health.pausedRoutes,
    waiting_routes: health.waitingRoutes,
    paused_until: toIso(health.pausedUntil),
    last_error: toErrorJson(last.error),
    last_test: toTestJson(last.test),
    strip: providers.health.strip(provider),
    keys: keys.map(({ id, ...key }) => ({
      id,
      state: key.state,
      reason: key.reason ?? null,
      last_error: toErrorJson(key.last.error),
      last_test: toTestJson(key.last.test),
    })),
  };
}
