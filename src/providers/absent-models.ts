import { nameKeyVariables } from "../config/index.ts";
import { type Caller, GatewayError } from "../contract/index.ts";
import { type ExplainAbsence, type Log, mayUse } from "../kernel/index.ts";
import { getDisplayName, type ProviderPlugin } from "../provider/index.ts";
import type { PluginStatus } from "./plugin-state.ts";
import type { AwaitedProvider } from "./unlisted-models.ts";

/** Providers that one message names. */
const namedMax = 3;

/** Facts of one snapshot that explain why a model is not served. */
interface AbsenceFacts {
  /** A provider that has listed its models is awaited until these are served. */
  readonly awaited: readonly AwaitedProvider[];
  /** Every plugin that could be loaded, with its rows. */
  readonly plugins: readonly ProviderPlugin[];
  statusOf(pluginName: string): PluginStatus | undefined;
  /** Called for a requested model, with advice for the operator. */
  report(fields: { model: string; plugins: string[]; remedy: string }): void;
}

/** Logs each model that is requested but not served, once a day. */
export class AbsenceLog {
  readonly #log: Log;
  #day = "";
  readonly #reported = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  add(day: string, fields: { model: string; plugins: string[]; remedy: string }): void {
    if (day !== this.#day) this.#reported.clear();
    this.#day = day;
    const text = JSON.stringify(fields);
    if (this.#reported.has(text)) return;
    this.#reported.add(text);
    this.#log.warn("model_not_served", fields);
  }
}

/** Explains why models that are known here cannot be called now: to callers whose providers, to the operator with the remedy. */
export class AbsentModels {
  readonly #facts: AbsenceFacts;

  constructor(facts: AbsenceFacts) {
    this.#facts = facts;
  }

  /** Whether a name may belong to a model that its provider has not listed yet. */
  readonly isAwaited = (name: string): boolean => this.#findAwaited(name) !== undefined;

  readonly explain: ExplainAbsence = (name, caller) => {
    const reason = this.#explainRow(name, caller);
    if (reason !== undefined) {
      const message = `The model '${name}' exists, but ${reason}; GET /models lists the available models`;
      return new GatewayError("model_not_found", message, { param: "model" });
    }
    const awaited = this.#findAwaited(name);
    if (awaited === undefined) return undefined;
    const message = `The models of ${awaited.name} are not listed yet: ${awaited.problem}`;
    return new GatewayError("unavailable", message, { retryAfterMs: awaited.retryMs });
  };

  /** Explains why no plugin with a row of this name serves it; `undefined` if the caller may not use any such row. */
  #explainRow(name: string, caller: Caller): string | undefined {
    const { plugins, statusOf, report } = this.#facts;
    const owners = plugins.flatMap((plugin) => {
      const row = plugin.models.find(({ id, aliases }) => id === name || aliases?.includes(name) === true);
      return row !== undefined && mayUse(caller, row.id) ? [{ plugin, model: getDisplayName(row) }] : [];
    });
    for (const { status, describe, remedy } of this.#absences) {
      const sellers = owners.filter(({ plugin }) => statusOf(plugin.name) === status).slice(0, namedMax);
      if (sellers[0] === undefined) continue;
      const absent = sellers.map(({ plugin }) => plugin);
      const names = absent.map(({ name }) => name);
      report({ model: sellers[0].model, plugins: names, remedy: remedy(absent) });
      return describe(names.join(", "));
    }
    return undefined;
  }

  /** The states of a provider that does not serve its rows, the easiest to resolve first. */
  readonly #absences: readonly {
    readonly status: PluginStatus;
    describe(names: string): string;
    remedy(plugins: readonly ProviderPlugin[]): string;
  }[] = [
    {
      status: "no_credential",
      describe: (names) => `no provider that has it is set up here: ${names}`,
      remedy: (plugins) => {
        const variables = plugins.filter(({ environment }) => environment !== false).map(nameKeyVariables);
        const set = variables.length === 0 ? "" : `set ${variables.join(" or ")} and start again, or `;
        return `${set}add a key of ${listNames(plugins)} on the page Providers`;
      },
    },
    {
      status: "disabled",
      describe: (names) => `the operator has disabled its provider: ${names}`,
      remedy: (plugins) => `enable ${listNames(plugins)} on the page Providers`,
    },
    {
      status: "refused",
      describe: (names) => `its provider cannot be used now: ${names}`,
      remedy: (plugins) => `modelgate plugin list shows the error of ${listNames(plugins)}`,
    },
  ];

  #findAwaited(name: string): AwaitedProvider | undefined {
    return this.#facts.awaited.find(({ prefix }) => name.startsWith(prefix));
  }
}

function listNames(plugins: readonly ProviderPlugin[]): string {
  return plugins.map(({ name }) => name).join(" or ");
}

/** Says why a provider answers no calls of its models; `undefined` if it does, or the sandbox in its place. */
export function explainUnserved(plugin: ProviderPlugin, status: PluginStatus | undefined): string | undefined {
  switch (status) {
    case "serving":
    case "previous":
    case "sandbox":
      return undefined;
    case "disabled":
      return "its provider is disabled";
    case "no_models":
      return "its provider has not listed its models";
    case "no_credential":
      return plugin.environment === false ? "store a key" : `set ${nameKeyVariables(plugin)} or store a key`;
    default:
      return "its provider cannot be used now";
  }
}
