import { isName } from "../contract/index.ts";
import { isLocalHost } from "../kernel/index.ts";
import { capabilityDefault, type Model, type ProviderPlugin } from "../provider/index.ts";
import { definePlugin } from "../sdk/index.ts";
import {
  type CheckHost,
  type DiscoveredModel,
  discoverModels,
  type Fetch,
  ListingError,
  type Place,
} from "./discover-models.ts";
import type { FileProblem } from "./plugin-directory.ts";

export type { CheckHost, Fetch };

/** How long a list of models counts as current: asking a server of one's own costs nothing. */
const currentMs = { ownServer: 30_000, provider: 3_600_000 };
/** First pause before the next request to an unreachable provider; it doubles up to `awayMsMax`. */
const awayMs = 1000;
const awayMsMax = 5000;
/** Pause before the next request to a provider that answered with something other than a list. */
const refusedMs = 60_000;
/** Minimum time between two requests to a provider that are caused by unknown names. */
const lookMs = { ownServer: 2000, provider: 60_000 };
/** Maximum time that a call waits for such a request. */
const lookMsMax = 2000;

/** The models that a provider was last found to have. */
interface Discovery {
  plugin: ProviderPlugin;
  readonly place: Place;
  models: readonly DiscoveredModel[];
  /** Listings that failed since the last one that did not. */
  failures: number;
  askedAt: number;
  nextAt: number;
  /** The listing that runs. */
  listing: Promise<void> | undefined;
  problem: Problem | undefined;
}

/** Why a provider did not list its models, and the pause before the next request. */
interface Problem {
  readonly reason: string;
  readonly retryMs: number;
}

/** A provider whose models are not known yet. */
export interface AwaitedProvider {
  readonly name: string;
  /** Prefix of the names of its models. */
  readonly prefix: string;
  /** Why it did not list its models, and the pause before the next request. */
  readonly problem: string;
  readonly retryMs: number;
}

/** Matches the names that providers use for models other than chat models. */
const otherThanChat =
  /embed|whisper|tts|transcri|dall-e|image|imagen|veo|sora|lyria|moderation|rerank|realtime|-live|speech|orpheus|guard/i;
const embedding = /embed/i;

interface UnlistedOptions {
  readonly now: () => number;
  /** Absent: no requests to providers. */
  readonly fetch?: Fetch;
  /** Absent: requests to every host are allowed. */
  readonly checkHost?: CheckHost;
}

/** Lists the models of plugins with `unlisted` terms at their providers, and keeps the lists. */
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

  /**
   * Differs whenever the models have changed. Lists the models again at providers with an old list, or without an
   * answer.
   */
  fingerprint(): string {
    for (const discovery of this.#discoveries.values()) {
      if (this.#now() >= discovery.nextAt) void this.#list(discovery);
    }
    return String(this.#version);
  }

  /** Lists the models of providers that are new. Never rejects, and takes a few seconds at most. */
  async discover(
    plugins: readonly ProviderPlugin[],
    placeOf: (plugin: ProviderPlugin) => Place | undefined,
  ): Promise<void> {
    const listings: Promise<void>[] = [];
    const names = new Set<string>();
    for (const plugin of plugins) {
      const place = plugin.unlisted === undefined ? undefined : placeOf(plugin);
      if (place === undefined) continue;
      names.add(plugin.name);
      const before = this.#discoveries.get(plugin.name);
      if (before?.place.baseUrl === place.baseUrl && before.place.key === place.key) {
        before.plugin = plugin;
        continue;
      }
      const never = { models: [], failures: 0, askedAt: 0, nextAt: 0, listing: undefined, problem: undefined };
      const discovery: Discovery = { plugin, place, ...never };
      this.#discoveries.set(plugin.name, discovery);
      listings.push(this.#list(discovery));
    }
    for (const name of this.#discoveries.keys()) if (!names.has(name)) this.#discoveries.delete(name);
    await Promise.all(listings);
  }

  /**
   * Lists the models of providers that may have these names, unless they were listed a moment ago.
   *
   * @returns Whether the models changed within two seconds; `undefined` when no provider is queried.
   */
  lookFor(names: readonly string[]): Promise<boolean> | undefined {
    const listings = [...this.#discoveries.values()].flatMap((discovery) => {
      const { prefix = "" } = discovery.plugin.unlisted ?? {};
      if (!names.some((name) => name.startsWith(prefix))) return [];
      const isLate = this.#now() - discovery.askedAt >= lookMs[kindOf(discovery)];
      return discovery.listing ?? (isLate ? this.#list(discovery) : []);
    });
    if (listings.length === 0) return undefined;
    const before = this.#version;
    const late = new Promise((resolve) => setTimeout(resolve, lookMsMax));
    return Promise.race([Promise.all(listings), late]).then(() => this.#version !== before);
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

  /** Providers whose last listing failed, with the reason. */
  get problems(): FileProblem[] {
    return [...this.#discoveries.keys()].flatMap((name) => {
      const message = this.problemOf(name);
      return message === undefined ? [] : [{ label: name, message }];
    });
  }

  /** Why the last listing of a provider failed; `undefined` if it succeeded or the provider is not queried. */
  problemOf(name: string): string | undefined {
    const { problem, models } = this.#discoveries.get(name) ?? {};
    if (problem === undefined) return undefined;
    const others = models?.length === 0 ? "" : "those found before stay, and ";
    return `Cannot list the models of ${name}: ${problem.reason}; ${others}${describeRetry(problem)}`;
  }

  /** Providers whose last listing failed, by the prefix of their names. */
  get awaited(): AwaitedProvider[] {
    return [...this.#discoveries.values()].flatMap(({ plugin: { name, unlisted }, problem }) => {
      if (problem === undefined || unlisted?.prefix === undefined) return [];
      const reason = `${problem.reason}; ${describeRetry(problem)}`;
      return [{ name, prefix: unlisted.prefix, problem: reason, retryMs: problem.retryMs }];
    });
  }

  /** Asks a provider for its models, once at a time. */
  #list(discovery: Discovery): Promise<void> {
    discovery.listing ??= this.#refresh(discovery).finally(() => {
      discovery.listing = undefined;
    });
    return discovery.listing;
  }

  async #refresh(discovery: Discovery): Promise<void> {
    const fetch = this.#fetch;
    discovery.askedAt = this.#now();
    discovery.nextAt = Number.POSITIVE_INFINITY;
    if (fetch === undefined) return;
    const { plugin, place } = discovery;
    const before = JSON.stringify([discovery.models, discovery.problem?.reason]);
    try {
      discovery.models = await discoverModels(plugin, place, { fetch, checkHost: this.#checkHost });
      discovery.problem = undefined;
      discovery.failures = 0;
      discovery.nextAt = this.#now() + currentMs[kindOf(discovery)];
    } catch (error) {
      const isAnswer = error instanceof ListingError && error.isAnswer;
      const pauseMs = isAnswer ? refusedMs : Math.min(awayMs * 2 ** discovery.failures, awayMsMax);
      discovery.problem = { reason: (error as Error).message, retryMs: isAnswer ? refusedMs : awayMsMax };
      discovery.failures++;
      discovery.nextAt = this.#now() + pauseMs;
    }
    if (JSON.stringify([discovery.models, discovery.problem?.reason]) !== before) this.#version++;
  }

  #toRows({ name, unlisted, handlers }: ProviderPlugin, listedIds: ReadonlySet<string>): Model[] {
    if (unlisted === undefined) return [];
    const { capability: capabilityOfTerms = capabilityDefault, prefix = "", ...terms } = unlisted;
    const models = this.#discoveries.get(name)?.models ?? [];
    // Vectors that cost nothing need no price of their own.
    const hasVectors = capabilityOfTerms === "chat" && handlers.embeddings !== undefined && !unlisted.premium;
    const ids = new Map(models.map((model) => [model.id, model]));
    const names = new Set<string>();
    return [...ids.values()].flatMap(({ id: upstreamId, name: ownName = upstreamId, use, created, ...facts }) => {
      const id = prefix + toFreeName(ownName, names);
      const isVector = hasVectors && (use === "embeddings" || (use === undefined && embedding.test(upstreamId)));
      const isOfOtherUse = use === undefined ? otherThanChat.test(upstreamId) : use !== "chat";
      const isOther = capabilityOfTerms === "chat" && !isVector && isOfOtherUse;
      if (!isName(id) || listedIds.has(id) || isOther) return [];
      return [
        {
          id,
          upstreamId,
          capability: isVector ? "embeddings" : capabilityOfTerms,
          ...(capabilityOfTerms === "chat" && !isVector && facts),
          ...terms,
          ownedBy: name,
          created,
        },
      ];
    });
  }

  /** Returns the same plugin for the same rows: nothing is checked twice. */
  #withRows(plugin: ProviderPlugin, rows: readonly Model[]): ProviderPlugin {
    const names = rows.map(({ id, contextTokens, features }) => `${id} ${contextTokens} ${features}`).join("\n");
    const cached = this.#extended.get(plugin);
    if (cached?.names === names) return cached.plugin;
    const extended = definePlugin({ ...plugin, models: [...plugin.models, ...rows] });
    this.#extended.set(plugin, { names, plugin: extended });
    return extended;
  }
}

/** Returns an unused name and reserves it: two files in different folders may have the same name. */
function toFreeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}-${number}`;
  taken.add(free);
  return free;
}

/** Whether a provider is the operator's own server, which may be queried often. */
function kindOf({ plugin, place }: Discovery): "ownServer" | "provider" {
  const host = new URL(place.baseUrl).hostname.replace(/^\[|\]$/g, "");
  const isOwn = plugin.credential === "none" || place.isBaseUrlGiven || isLocalHost(host);
  return isOwn ? "ownServer" : "provider";
}

function describeRetry({ retryMs }: Problem): string {
  return `it is called again every ${retryMs === refusedMs ? "minute" : "few seconds"}`;
}
