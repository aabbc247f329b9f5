import { getFieldVariable, getVariablePrefix } from "../config/index.ts";
import { describeRoutes, type ModelEntry, openForMs, type Registry, type Route } from "../kernel/index.ts";
import { findMethod, getForm, getPlainFields, type ProviderPlugin, readCredential } from "../provider/index.ts";
import {
  type AttemptCount,
  type Failure,
  failingSinceOf,
  type Health,
  keyHealth,
  type LastOutcomes,
  providerHealth,
  type TestOutcome,
} from "./health.ts";
import type { PluginState } from "./plugin-state.ts";
import { type ProviderSettings, toProviderJson } from "./provider-settings.ts";
import type { Providers } from "./providers.ts";
import type { AttemptStats } from "./route-stats.ts";

/** Routes of one provider that are listed: those in use or in trouble first. */
const routesMax = 500;

interface FoundRoute {
  readonly modelEntry: ModelEntry;
  readonly route: Route;
}

function groupRoutes(registry: Registry): Map<string, FoundRoute[]> {
  const routes = new Map<string, FoundRoute[]>();
  for (const modelEntry of registry.modelEntries) {
    for (const route of modelEntry.routes) {
      const list = routes.get(route.plugin.name);
      if (list === undefined) routes.set(route.plugin.name, [{ modelEntry, route }]);
      else list.push({ modelEntry, route });
    }
  }
  return routes;
}

/** The health of one provider that serves models. */
export interface ProviderHealth extends Health {
  readonly provider: string;
  readonly last: LastOutcomes;
  readonly keys: readonly (Health & { readonly id: string; readonly last: LastOutcomes })[];
  readonly routes: number;
  /** Routes that take no call, and those that the next call tries. */
  readonly pausedRoutes: number;
  readonly waitingRoutes: number;
  /** When the first paused route takes a call again, milliseconds since 1970; absent: none is paused. */
  readonly pausedUntil: number | undefined;
  readonly models: readonly string[];
}

/**
 * The health of every provider that serves models, from the attempts of all gateways of the database; circuits are only
 * those in this process. The sandbox is left out.
 *
 * @param nowMs By the clock of the circuits.
 */
export function readHealth(providers: Providers, registry: Registry, nowMs: number): ProviderHealth[] {
  const plugins = new Map(providers.snapshot.plugins.map((plugin) => [plugin.name, plugin]));
  return [...groupRoutes(registry)].flatMap(([provider, routeList]) => {
    const plugin = plugins.get(provider);
    return plugin === undefined || provider === "sandbox"
      ? []
      : [toHealth(providers, { plugin, found: routeList, nowMs })];
  });
}

function toHealth(
  { settings, health, startedAt, now }: Providers,
  { plugin, found: routes, nowMs }: { plugin: ProviderPlugin; found: readonly FoundRoute[]; nowMs: number },
): ProviderHealth {
  const provider = plugin.name;
  const at = now();
  const setAt = new Map(settings.keysOf(provider).map((key) => [key.id, key.setAt]));
  const keyStates = routes[0]?.route.keys.statesAt(nowMs) ?? [];
  const keys = settings.keyIdsOf(plugin).map((id, index) => {
    // Outcomes of the key that this one has replaced say nothing about it.
    const last = since(health.last(provider, id), setAt.get(id) ?? startedAt);
    return { id, last, ...keyHealth(last, (keyStates[index] ?? "closed") !== "closed", at) };
  });
  const open = routes.filter(
    ({ route }) => route.health.stateAt(nowMs) === "open" || route.circuitBreaker.stateAt(nowMs) === "open",
  );
  const waiting = routes.filter(({ route }) => route.circuitBreaker.stateAt(nowMs) === "half_open");
  const circuits = {
    routes: routes.length,
    pausedRoutes: open.length,
    waitingRoutes: waiting.filter((one) => !open.includes(one)).length,
  };
  const pauses = open.map(({ route }) => openForMs(route, nowMs));
  const last = health.last(provider);
  const state = providerHealth({ last, recent: health.recent(provider), keys, circuits, now: at });
  const pausedUntil = pauses.length === 0 ? undefined : Math.ceil(at + Math.min(...pauses));
  const models = routes.map(({ modelEntry }) => modelEntry.model.id);
  return { provider, ...state, ...circuits, pausedUntil, last, keys, models };
}

function since(last: LastOutcomes, from: number): LastOutcomes {
  const later = (at: number | undefined) => (at === undefined ? undefined : Math.max(at, from));
  const outcomes = Object.entries(last).filter(([, outcome]) => outcome !== undefined && outcome.at >= from);
  return Object.fromEntries(
    outcomes.map(([name, one]) => [name, { ...one, since: later(one.since), refusedSince: later(one.refusedSince) }]),
  );
}

/** The last error of a provider or key as JSON, with the provider's message: for administrators. */
export function toErrorJson(error: (Failure & { at: number }) | undefined) {
  if (error === undefined) return null;
  const { at, kind, status, message, model } = error;
  return { at: new Date(at).toISOString(), kind, status: status ?? null, message, model };
}

export function toTestJson(test: (TestOutcome & { at: number }) | undefined) {
  if (test === undefined) return null;
  const { at, isOk, model, ms, error, note } = test;
  return {
    at: new Date(at).toISOString(),
    ok: isOk,
    model: model ?? null,
    ms,
    error: error ?? null,
    note: note ?? null,
  };
}

/** A provider as administrators see it. */
export type ProviderDescription = ReturnType<typeof describeProviders>[number];

/** Describes every provider to administrators, without secrets. Attempts are counted in this process only. */
export function describeProviders(providers: Providers, registry: Registry, nowMs: number) {
  const { settings, snapshot, stats } = providers;
  const routes = groupRoutes(registry);
  const healths = new Map(readHealth(providers, registry, nowMs).map((health) => [health.provider, health]));
  const plugins = new Map(snapshot.plugins.map((plugin) => [plugin.name, plugin]));
  return snapshot.states.map((state) => {
    const routeList = routes.get(state.name) ?? [];
    const row = settings.rows.get(state.name);
    const health = healths.get(state.name);
    const last = health?.last ?? providers.health.last(state.name);
    return {
      ...describeState(state),
      health: {
        state: health?.state ?? null,
        reason: health?.reason ?? null,
        since: toIsoOrNull(health?.since),
        failing_since: toIsoOrNull(failingSinceOf(last)),
        last_success_at: toIsoOrNull(last.success?.at),
        paused_routes: health?.pausedRoutes ?? 0,
        waiting_routes: health?.waitingRoutes ?? 0,
        paused_until: toIsoOrNull(health?.pausedUntil),
        recent: toRecentJson(providers.health.recent(state.name)),
        last_error: toErrorJson(last.error),
        last_test: toTestJson(last.test),
        strip: providers.health.strip(state.name),
      },
      ...describePlace(settings, plugins.get(state.name)),
      ...toProviderJson(row),
      /** Whether it was added here, and can be removed. */
      managed: row?.manifest !== undefined && !row.isRemoved && state.origin === `plugins/${state.name}.json`,
      keys: describeKeys(settings, plugins.get(state.name) ?? { name: state.name, credential: "key" }, {
        pool: routeList[0]?.route,
        stats,
        nowMs,
        healths: health?.keys ?? [],
      }),
      routes: routeList
        .map((one) => toRoute(one, stats, { nowMs, at: providers.now() }))
        .sort(byTrouble)
        .slice(0, routesMax),
    };
  });
}

function toIsoOrNull(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

function toRecentJson({ attempts, errors }: AttemptCount) {
  return { attempts, errors };
}

function describeState({ name, origin, status, models, routes, error, version, loaded_at }: PluginState) {
  const loadedAt = loaded_at === null ? null : new Date(loaded_at).toISOString();
  return { name, origin, status, models, served_models: routes, error, version, loaded_at: loadedAt };
}

function describePlace(settings: ProviderSettings, plugin: ProviderPlugin | undefined) {
  if (plugin === undefined) return { base_url: null, base_url_source: null, credential: null, credential_form: null };
  const { baseUrl } = settings.readGiven(plugin);
  return {
    base_url: baseUrl ?? plugin.baseUrl,
    base_url_source: baseUrl === undefined ? ("plugin" as const) : ("environment" as const),
    credential: typeof plugin.credential === "string" ? plugin.credential : ("fields" as const),
    credential_form: describeForm(plugin),
  };
}

interface KeyContext {
  readonly pool: Route | undefined;
  readonly stats: Providers["stats"];
  readonly nowMs: number;
  readonly healths: ProviderHealth["keys"];
}

/**
 * Lists the keys of the environment, without their last characters, then the stored keys. Either those of the environment
 * are active, or the stored ones.
 */
function describeKeys(
  settings: ProviderSettings,
  plugin: Pick<ProviderPlugin, "name" | "credential">,
  { pool, stats, nowMs, healths }: KeyContext,
) {
  const states = pool?.keys.statesAt(nowMs) ?? [];
  const toAttempts = (index: number) => ({
    state: states[index] ?? null,
    attempts: pool === undefined ? null : toStatsJson(stats.ofKey(pool, index)),
    health: toKeyHealthJson(healths[index]),
  });
  const environmentKeys = settings.readGiven(plugin).keys;
  const variable = nameVariables(plugin);
  const isInForce = !settings.usesEnvironment(plugin, environmentKeys);
  const inEnvironment = environmentKeys.map((key, index) => ({
    id: null,
    source: variable,
    last4: "",
    set_by: null,
    set_at: null,
    readable: true,
    in_force: !isInForce,
    fields: getPlainFields(key),
    method: nameMethod(plugin, key),
    ...toAttempts(isInForce ? -1 : index),
  }));
  let index = 0;
  const stored = settings.keysOf(plugin.name).map(({ id, last4, setBy, setAt, secret }) => ({
    id,
    source: null,
    last4,
    set_by: setBy,
    set_at: new Date(setAt).toISOString(),
    readable: secret !== undefined,
    in_force: isInForce && secret !== undefined,
    fields: secret === undefined ? {} : getPlainFields(secret),
    method: secret === undefined ? null : nameMethod(plugin, secret),
    ...toAttempts(isInForce && secret !== undefined ? index++ : -1),
  }));
  return [...inEnvironment, ...stored];
}

function toKeyHealthJson(health: ProviderHealth["keys"][number] | undefined) {
  const { state, reason, last } = health ?? { state: null, reason: undefined, last: {} };
  return { state, reason: reason ?? null, last_error: toErrorJson(last.error), last_test: toTestJson(last.test) };
}

/** Fields of a credential, for a form to enter it. */
function describeForm({ name: plugin, credential }: Pick<ProviderPlugin, "name" | "credential">) {
  const form = getForm(credential);
  if (form === undefined) return null;
  const fields = form.fields.map(
    ({ name, label, secret = false, example = "", isFile = false, hint = null, choices = [] }) => ({
      name,
      label,
      secret,
      example,
      hint,
      choices: choices.map((choice) => ({ ...choice })),
      is_file: isFile,
      variable: getFieldVariable(plugin, name),
    }),
  );
  const methods = form.methods.map(({ name, label, hint = null, fields, optional = [] }) => ({
    name,
    label,
    hint,
    fields: [...fields],
    optional: [...optional],
  }));
  return { fields, methods };
}

/** The way to sign in that a credential uses; `null` for a single key. */
function nameMethod({ credential }: Pick<ProviderPlugin, "credential">, key: string): string | null {
  const form = getForm(credential);
  return (form && findMethod(form, readCredential(key).fields)?.name) ?? null;
}

/** Environment variables of a credential. */
function nameVariables({ name, credential }: Pick<ProviderPlugin, "name" | "credential">): string {
  return typeof credential === "string" ? `${getVariablePrefix(name)}_API_KEY` : `${getVariablePrefix(name)}_…`;
}

function toRoute(
  { modelEntry, route }: FoundRoute,
  stats: Providers["stats"],
  { nowMs, at }: { readonly nowMs: number; readonly at: number },
) {
  const pauseMs = openForMs(route, nowMs);
  const [state] = describeRoutes({ ...modelEntry, routes: [route] }, nowMs);
  return {
    model: modelEntry.model.id,
    state: (state as NonNullable<typeof state>).state,
    paused_until: pauseMs === 0 ? null : new Date(at + Math.ceil(pauseMs)).toISOString(),
    priority: (state as NonNullable<typeof state>).priority,
    weight: (state as NonNullable<typeof state>).weight,
    attempts: toStatsJson(stats.ofRoute(route)),
  };
}

function toStatsJson({ calls, errors, p50Ms, p95Ms, lastError }: AttemptStats) {
  const error = lastError && { at: new Date(lastError.at).toISOString(), reason: lastError.reason };
  return { calls, errors, p50_ms: p50Ms ?? null, p95_ms: p95Ms ?? null, last_error: error ?? null };
}

type RouteJson = ReturnType<typeof toRoute>;

function byTrouble(one: RouteJson, other: RouteJson): number {
  const rank = ({ state, attempts }: RouteJson) =>
    (state === "closed" ? 0 : 1e9) + attempts.errors * 1000 + attempts.calls;
  return rank(other) - rank(one) || (one.model < other.model ? -1 : 1);
}
