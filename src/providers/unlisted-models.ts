import type { Model, ProviderPlugin } from "../contract/index.ts";
import { definePlugin } from "../sdk/index.ts";
import { type CheckHost, type DiscoveredModel, discoverModels, type Fetch, type Place } from "./discover-models.ts";
import type { FileProblem } from "./plugin-directory.ts";

export type { CheckHost, Fetch };

/** How long the list of a provider counts as current. */
const listedMs = 3_600_000;
/** The first pause before a provider that did not list its models is asked again; it doubles up to the last one. */
const retryMs = 1000;
const retryMsMax = 5000;

/** The models that a provider was last found to have. */
interface Discovery {
  readonly plugin: ProviderPlugin;
  readonly place: Place;
  models: readonly DiscoveredModel[];
  /** Listings that failed since the last one that did not. */
  failures: number;
  /** When the provider is asked again; infinite while it is being asked. */
  nextAt: number;
  problem: string | undefined;
}

/** A provider that may have models of which nothing is known yet. */
export interface AwaitedProvider {
  readonly name: string;
  /** The names of its models begin with it. */
  readonly prefix: string;
  /** Why it did not list its models. */
  readonly problem: string;
}

/** Other models than those that chat, by what providers call them. */
const otherThanChat =
  /embed|whisper|tts|transcri|dall-e|image|imagen|veo|sora|lyria|moderation|rerank|realtime|-live|speech|orpheus|guard/i;
const embedding = /embed/i;
const idForm = /^[^\p{Cc}]{1,200}$/u;

interface UnlistedOptions {
  readonly now: () => number;
  /** Absent: no provider is asked. */
  readonly fetch?: Fetch;
  /** Absent: every host is asked. */
  readonly checkHost?: CheckHost;
}

/** Finds the models of plugins with `unlisted` terms at their providers, and keeps what was found. */
export class UnlistedModels {
  readonly #now: () => number;
  readonly #fetch: Fetch | undefined;
  readonly #checkHost: CheckHost | undefined;
  readonly #discoveries = new Map<string, Discovery>();
  readonly #extended = new WeakMap<ProviderPlugin, { names: string; plugin: ProviderPlugin }>();
  #version = 0;

  constructor({ now, fetch, checkHost }: UnlistedOptions) {
    this.#now = now;
    this.#fetch = fetch;
    this.#checkHost = checkHost;
  }

  /** Differs whenever other models were found. Asks the providers whose list is old, or that did not answer. */
  fingerprint(): string {
    for (const discovery of this.#discoveries.values()) {
      if (this.#now() >= discovery.nextAt) void this.#refresh(discovery);
    }
    return String(this.#version);
  }

  /** Lists the models of providers that are new. Never rejects, and takes a few seconds at most. */
  async discover(
    plugins: readonly ProviderPlugin[],
    placeOf: (plugin: ProviderPlugin) => Place | undefined,
  ): Promise<void> {
    const refreshing: Promise<void>[] = [];
    const names = new Set<string>();
    for (const plugin of plugins) {
      const place = plugin.unlisted === undefined ? undefined : placeOf(plugin);
      if (place === undefined) continue;
      names.add(plugin.name);
      const cachedDiscovery = this.#discoveries.get(plugin.name);
      if (cachedDiscovery?.place.baseUrl === place.baseUrl && cachedDiscovery.place.key === place.key) continue;
      const discovery = { plugin, place, models: [], failures: 0, nextAt: 0, problem: undefined };
      this.#discoveries.set(plugin.name, discovery);
      refreshing.push(this.#refresh(discovery));
    }
    for (const name of this.#discoveries.keys()) if (!names.has(name)) this.#discoveries.delete(name);
    await Promise.all(refreshing);
  }

  /** The plugins with the models that were found for them. A name that a row has is never another model's. */
  extend(plugins: readonly ProviderPlugin[]): ProviderPlugin[] {
    if (this.#discoveries.size === 0) return [...plugins];
    const ids = new Set<string>();
    for (const { models } of plugins) {
      for (const { id, aliases = [], upstreamId } of models)
        for (const name of [id, upstreamId, ...aliases]) ids.add(name);
    }
    return plugins.map((plugin) => {
      const rows = this.#toRows(plugin, ids);
      for (const { id } of rows) ids.add(id);
      return rows.length === 0 ? plugin : this.#withRows(plugin, rows);
    });
  }

  /** Providers that did not list their models when they were last asked, with the reason. */
  get problems(): FileProblem[] {
    return [...this.#discoveries.keys()].flatMap((name) => {
      const message = this.problemOf(name);
      return message === undefined ? [] : [{ label: name, message }];
    });
  }

  /** Why a provider did not list its models when it was last asked; `undefined` when it did, or is not asked. */
  problemOf(name: string): string | undefined {
    const { problem, models } = this.#discoveries.get(name) ?? {};
    if (problem === undefined) return undefined;
    const others = models?.length === 0 ? "" : "those found before stay, and ";
    return `Cannot list the models of ${name}: ${problem}; ${others}it is asked again every few seconds`;
  }

  /** Providers that did not list their models when they were last asked, by the prefix of their names. */
  get awaited(): AwaitedProvider[] {
    return [...this.#discoveries.values()].flatMap(({ plugin: { name, unlisted }, problem }) =>
      problem === undefined || unlisted?.prefix === undefined ? [] : [{ name, prefix: unlisted.prefix, problem }],
    );
  }

  async #refresh(discovery: Discovery): Promise<void> {
    const fetch = this.#fetch;
    discovery.nextAt = Number.POSITIVE_INFINITY;
    if (fetch === undefined) return;
    const before = JSON.stringify([discovery.models, discovery.problem]);
    try {
      discovery.models = await discoverModels(discovery.plugin, discovery.place, {
        fetch,
        checkHost: this.#checkHost,
      });
      discovery.problem = undefined;
      discovery.failures = 0;
      discovery.nextAt = this.#now() + listedMs;
    } catch (error) {
      discovery.problem = (error as Error).message;
      discovery.nextAt = this.#now() + Math.min(retryMs * 2 ** discovery.failures, retryMsMax);
      discovery.failures++;
    }
    if (JSON.stringify([discovery.models, discovery.problem]) !== before) this.#version++;
  }

  #toRows({ name, unlisted, handlers }: ProviderPlugin, listedIds: ReadonlySet<string>): Model[] {
    if (unlisted === undefined) return [];
    const { capability: capabilityOfTerms = "chat", prefix = "", ...terms } = unlisted;
    const models = this.#discoveries.get(name)?.models ?? [];
    // Vectors that cost nothing need no price of their own.
    const hasVectors = capabilityOfTerms === "chat" && handlers.embeddings !== undefined && !unlisted.premium;
    const ids = new Map(models.map((model) => [model.id, model]));
    return [...ids.values()].flatMap(({ id: upstreamId, created }) => {
      const id = prefix + upstreamId;
      const isVector = hasVectors && embedding.test(upstreamId);
      const isOther = capabilityOfTerms === "chat" && !isVector && otherThanChat.test(upstreamId);
      if (!idForm.test(id) || listedIds.has(id) || isOther) return [];
      return [
        { id, upstreamId, capability: isVector ? "embeddings" : capabilityOfTerms, ...terms, ownedBy: name, created },
      ];
    });
  }

  /** The same rows give the same plugin, so that nothing is checked twice. */
  #withRows(plugin: ProviderPlugin, rows: readonly Model[]): ProviderPlugin {
    const names = rows.map(({ id }) => id).join("\n");
    const cached = this.#extended.get(plugin);
    if (cached?.names === names) return cached.plugin;
    const extended = definePlugin({ ...plugin, models: [...plugin.models, ...rows] });
    this.#extended.set(plugin, { names, plugin: extended });
    return extended;
  }
}
