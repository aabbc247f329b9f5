import { getFieldVariable, getVariablePrefix } from "../config/index.ts";
import { getForm, getPlainFields, type ProviderPlugin } from "../contract/index.ts";
import { describeRoutes, type ModelEntry, type Registry, type Route } from "../kernel/index.ts";
import type { PluginState } from "./plugin-state.ts";
import type { ProviderSettings } from "./provider-settings.ts";
import type { Providers } from "./providers.ts";
import type { AttemptStats } from "./route-stats.ts";

/** Routes of one provider that are listed: those in use or in trouble first. */
const routesMax = 100;

interface FoundRoute {
  readonly modelEntry: ModelEntry;
  readonly route: Route;
}

/** Every provider as an administrator sees it, without secrets. Attempts are those of this process. */
export function describeProviders({ settings, snapshot, stats }: Providers, registry: Registry, nowMs: number) {
  const routes = new Map<string, FoundRoute[]>();
  for (const modelEntry of registry.modelEntries) {
    for (const route of modelEntry.routes) {
      const known = routes.get(route.plugin.name);
      if (known === undefined) routes.set(route.plugin.name, [{ modelEntry, route }]);
      else known.push({ modelEntry, route });
    }
  }
  const plugins = new Map(snapshot.plugins.map((plugin) => [plugin.name, plugin]));
  return snapshot.states.map((state) => {
    const found = routes.get(state.name) ?? [];
    const row = settings.rows.get(state.name);
    return {
      ...describeState(state),
      ...describePlace(settings, plugins.get(state.name)),
      enabled: row?.isEnabled ?? true,
      priority: row?.priority ?? null,
      weight: row?.weight ?? null,
      /** Whether it was added here, and can be removed. */
      managed: row?.manifest !== undefined && !row.isRemoved && state.origin === `plugins/${state.name}.json`,
      keys: describeKeys(settings, plugins.get(state.name) ?? { name: state.name, credential: "key" }, {
        pool: found[0]?.route,
        stats,
        nowMs,
      }),
      routes: found
        .map((one) => toRoute(one, stats, nowMs))
        .sort(byTrouble)
        .slice(0, routesMax),
    };
  });
}

function describeState({ name, origin, status, models, routes, error }: PluginState) {
  return { name, origin, status, models, served_models: routes, error };
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
}

/** The stored keys, or how many the environment has. Keys of the environment have no last characters here. */
function describeKeys(
  settings: ProviderSettings,
  plugin: Pick<ProviderPlugin, "name" | "credential">,
  { pool, stats, nowMs }: KeyContext,
) {
  const states = pool?.keys.statesAt(nowMs) ?? [];
  const toAttempts = (index: number) => ({
    state: states[index] ?? null,
    attempts: pool === undefined ? null : toStatsJson(stats.ofKey(pool, index)),
  });
  const given = settings.readGiven(plugin).keys;
  if (given.length > 0) {
    const variable = nameVariables(plugin);
    return given.map((key, index) => ({
      ...{ id: null, source: variable, last4: "", set_by: null, set_at: null, readable: true },
      fields: getPlainFields(key),
      ...toAttempts(index),
    }));
  }
  let index = 0;
  return settings.keysOf(plugin.name).map(({ id, last4, setBy, setAt, secret }) => ({
    ...{
      id,
      source: null,
      last4,
      set_by: setBy,
      set_at: new Date(setAt).toISOString(),
      readable: secret !== undefined,
      fields: secret === undefined ? {} : getPlainFields(secret),
    },
    ...toAttempts(secret === undefined ? -1 : index++),
  }));
}

/** What a credential consists of, for a form to enter it. */
function describeForm({ name: plugin, credential }: Pick<ProviderPlugin, "name" | "credential">) {
  const form = getForm(credential);
  if (form === undefined) return null;
  const fields = form.fields.map(({ name, label, secret = false, example = "", isFile = false }) => {
    return { name, label, secret, example, is_file: isFile, variable: getFieldVariable(plugin, name) };
  });
  return { fields, sets: form.sets };
}

/** What the environment sets it by. */
function nameVariables({ name, credential }: Pick<ProviderPlugin, "name" | "credential">): string {
  return typeof credential === "string" ? `${getVariablePrefix(name)}_API_KEY` : `${getVariablePrefix(name)}_…`;
}

function toRoute({ modelEntry, route }: FoundRoute, stats: Providers["stats"], nowMs: number) {
  const [state] = describeRoutes({ ...modelEntry, routes: [route] }, nowMs);
  return {
    model: modelEntry.model.id,
    state: (state as NonNullable<typeof state>).state,
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
