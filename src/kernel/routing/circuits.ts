/**
 * Health of routes and keys. A route that keeps failing is paused by its circuit breaker, and later tried again by one
 * call. A key that is refused or limited is not used for a while. A session stays with the route that last served it.
 */
import type { Caller } from "../../contract/index.ts";
import { encodedForms } from "../../lib/encoded-forms.ts";
import { replaceTexts } from "../../lib/escapes.ts";
import { getSecrets, type ProviderCredential, readCredential } from "../../provider/index.ts";

/** The owner of prompts that a provider may have cached: a session of an account. */
export function cacheOwnerOf({
  session,
  caller,
}: {
  session?: string | undefined;
  caller: Caller;
}): string | undefined {
  return session === undefined ? undefined : `${caller.accountId} ${session}`;
}

/** The parts of 1 that a hash can be. */
const parts = 2 ** 32;

/**
 * A number above 0 and below 1 for an owner and the name of a candidate, always the same for both. The candidate with the
 * largest number is the owner's: every process computes the same result, and when a candidate goes or
 * comes, no owner moves between the others (rendezvous hashing).
 */
export function affinity(owner: string, candidate: string): number {
  return (hash(`${owner} ${candidate}`) + 0.5) / parts;
}

/** Sorts the keys in the order an owner uses them. */
function sortFor<Key extends { readonly key: string }>(owner: string, keys: readonly Key[]): readonly Key[] {
  if (keys.length === 1) return keys;
  const ranked = keys.map((key) => ({ key, rank: affinity(owner, key.key) }));
  return ranked.sort((a, b) => b.rank - a.rank).map(({ key }) => key);
}

/** FNV-1a with the last mixing of MurmurHash3, without which names that differ in the last letter have similar hashes. */
function hash(text: string): number {
  let bits = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) bits = Math.imul(bits ^ text.charCodeAt(at), 0x01000193);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** When a circuit opens, and for how long. */
export interface CircuitBreakerOptions {
  /** Failures within the window that open the circuit, if at least half of the attempts failed. At least 2. */
  readonly failuresMin: number;
  readonly windowMs: number;
  /** How long it stays open at first; each failed probe doubles it, up to `openMsMax`. */
  readonly openMs: number;
  readonly openMsMax: number;
}

/** A probe that takes long blocks the next one for this long. */
const probeMsMax = 60_000;
/** Delay until a call should return that is refused because a probe is running. */
const besideProbeMs = 1000;

export type CircuitState = "closed" | "open" | "half_open";

/**
 * The circuit breaker of a route or a key. Several failures in a short time open it. Then it is half-open and lets one
 * probe through at a time: a success closes it, a failure opens it for longer. A closed one costs two comparisons.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  #failures = 0;
  #successes = 0;
  #windowEndsMs = 0;
  /** 0 while it is not open. */
  #openUntilMs = 0;
  #openMs: number;
  /** Whether it opened because of failures, and not because the provider asked for a pause. */
  #opened = false;
  #probingUntilMs = 0;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
    this.#openMs = options.openMs;
  }

  /** Whether the next call may use it. */
  isReady(nowMs: number): boolean {
    if (this.#openUntilMs === 0) return true;
    if (nowMs < this.#openUntilMs) return false;
    return !this.#opened || nowMs >= this.#probingUntilMs;
  }

  /** How long it takes no call, in milliseconds; 0 while it takes one. */
  pausedForMs(nowMs: number): number {
    if (this.isReady(nowMs)) return 0;
    return nowMs < this.#openUntilMs ? this.#openUntilMs - nowMs : besideProbeMs;
  }

  /** Until when it is open, by {@link Kernel.now}; 0 when it is closed. */
  get openUntilMs(): number {
    return this.#openUntilMs;
  }

  stateAt(nowMs: number): CircuitState {
    if (this.isReady(nowMs)) return this.#opened ? "half_open" : "closed";
    return nowMs < this.#openUntilMs ? "open" : "half_open";
  }

  /** A call uses it. After it was open, the call is the probe. */
  begin(nowMs: number): void {
    if (this.#openUntilMs === 0) return;
    if (this.#opened) this.#probingUntilMs = nowMs + probeMsMax;
    else if (nowMs >= this.#openUntilMs) this.#openUntilMs = 0;
  }

  /** A call ended without an outcome, because its client disconnected: another one may probe in its place. */
  abandon(): void {
    this.#probingUntilMs = 0;
  }

  /** Returns whether it closes: the call was the probe. */
  onSuccess(): boolean {
    if (this.#failures === 0) return false;
    if (this.#opened) {
      this.#close();
      return true;
    }
    this.#successes++;
    return false;
  }

  /** Returns whether it opens. */
  onFailure(nowMs: number): boolean {
    if (this.#opened) {
      const isProbe = nowMs >= this.#openUntilMs;
      if (isProbe) this.#open(nowMs, Math.min(this.#openMs * 2, this.#options.openMsMax));
      return isProbe;
    }
    if (nowMs >= this.#windowEndsMs) {
      this.#windowEndsMs = nowMs + this.#options.windowMs;
      this.#failures = 0;
      this.#successes = 0;
    }
    this.#failures++;
    if (this.#failures < this.#options.failuresMin || this.#failures < this.#successes) return false;
    this.#open(nowMs, this.#options.openMs);
    return true;
  }

  /** How much longer it stays open, in milliseconds; 0 unless it is open. */
  openForMs(nowMs: number): number {
    return this.stateAt(nowMs) === "open" ? Math.max(0, this.#openUntilMs - nowMs) : 0;
  }

  /** Closes it and forgets its failures, whatever opened it. */
  resume(): void {
    this.#close();
  }

  /** Pauses until the time that the provider named, but at most as long as the circuit may stay open. */
  pauseFor(pauseMs: number, nowMs: number): void {
    this.#openUntilMs = Math.max(this.#openUntilMs, nowMs + Math.min(pauseMs, this.#options.openMsMax));
  }

  /** Opens it as failures do. */
  protected openNow(nowMs: number): void {
    this.#open(nowMs, this.#options.openMs);
  }

  #open(nowMs: number, openMs: number): void {
    this.#opened = true;
    this.#openMs = openMs;
    this.#openUntilMs = nowMs + openMs;
    this.#probingUntilMs = 0;
  }

  #close(): void {
    this.#opened = false;
    this.#openUntilMs = 0;
    this.#openMs = this.#options.openMs;
    this.#probingUntilMs = 0;
    this.#failures = 0;
    this.#successes = 0;
    this.#windowEndsMs = 0;
  }
}

/** Maximum number of accounts whose failures a route or a plugin remembers. */
const accountsMax = 256;

interface OwnCircuit {
  readonly circuit: CircuitBreaker;
  /** Until then it has counted for all. */
  countedUntilMs: number;
}

/**
 * The circuit breaker of a route or a plugin. What one account does alone closes none to others: its failures open the circuit for
 * its own calls. It opens for all once it is open for two, or once so many accounts have failed as failures open one. Nor do
 * the probes of one account alone keep it open.
 */
export class RouteCircuit extends CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  readonly #own = new Map<string, OwnCircuit>();
  /** The owner of the call whose probe failed last. */
  #prober: string | undefined;
  /** Until then it probes no more: its calls do not count among the probes, and are as few. */
  #proberWaitsUntilMs = 0;
  /** The last account that succeeded since a circuit of one account opened. */
  #succeeded: string | undefined;

  constructor(options: CircuitBreakerOptions) {
    super(options);
    this.#options = options;
  }

  override isReady(nowMs: number, account?: string): boolean {
    if (!super.isReady(nowMs)) return false;
    if (account === undefined) return true;
    if (account === this.#prober && nowMs < this.#proberWaitsUntilMs) return false;
    return this.#own.get(account)?.circuit.isReady(nowMs) ?? true;
  }

  override pausedForMs(nowMs: number, account?: string): number {
    if (this.isReady(nowMs, account)) return 0;
    const own = account === undefined ? undefined : this.#own.get(account)?.circuit;
    return Math.max(super.pausedForMs(nowMs), own?.pausedForMs(nowMs) ?? 0, besideProbeMs);
  }

  /**
   * The state for all accounts. If that is closed, the state of an account with an open circuit, unless calls of
   * another account show that the provider works.
   */
  override stateAt(nowMs: number): CircuitState {
    const state = super.stateAt(nowMs);
    if (state !== "closed") return state;
    for (const [account, { circuit }] of this.#own) {
      const own = circuit.stateAt(nowMs);
      if (own !== "closed" && (this.#succeeded === undefined || this.#succeeded === account)) return own;
    }
    return state;
  }

  override begin(nowMs: number, account?: string): void {
    if (account === undefined || account !== this.#prober) super.begin(nowMs);
    else this.#proberWaitsUntilMs = nowMs + probeMsMax;
    if (account !== undefined) this.#own.get(account)?.circuit.begin(nowMs);
  }

  override abandon(account?: string): void {
    super.abandon();
    if (account === this.#prober) this.#proberWaitsUntilMs = 0;
    if (account !== undefined) this.#own.get(account)?.circuit.abandon();
  }

  override onSuccess(account?: string): boolean {
    const isClosed = super.onSuccess();
    this.#prober = undefined;
    if (account === undefined || this.#own.size === 0) return isClosed;
    const isOwnClosed = this.#own.get(account)?.circuit.onSuccess() ?? false;
    this.#succeeded = account;
    return isClosed || isOwnClosed;
  }

  /** If it is open for single accounts alone: until the last of them may call again. */
  override openForMs(nowMs: number): number {
    if (this.stateAt(nowMs) !== "open") return 0;
    const own = super.stateAt(nowMs) === "open" ? [] : [...this.#own.values()];
    return Math.max(super.openForMs(nowMs), ...own.map(({ circuit }) => circuit.openForMs(nowMs)));
  }

  /** Closes it for all accounts. */
  override resume(): void {
    super.resume();
    this.#own.clear();
    this.#prober = undefined;
    this.#proberWaitsUntilMs = 0;
    this.#succeeded = undefined;
  }

  override onFailure(nowMs: number, account?: string): boolean {
    if (account === undefined) return super.onFailure(nowMs);
    const own = this.#ownOf(account);
    const isOwnOpened = own.circuit.onFailure(nowMs);
    // Calls of an account without failures succeed in the meantime: the provider works.
    const worksForOthers = this.#succeeded !== undefined && !this.#own.has(this.#succeeded);
    if (isOwnOpened) this.#succeeded = undefined;
    if (super.stateAt(nowMs) !== "closed") {
      if (account === this.#prober) this.#proberWaitsUntilMs = nowMs + this.#options.openMs;
      if (account === this.#prober || !super.onFailure(nowMs)) return isOwnOpened;
      this.#prober = account;
      this.#proberWaitsUntilMs = 0;
      return true;
    }
    let isOpened = false;
    if (nowMs >= own.countedUntilMs) {
      own.countedUntilMs = nowMs + this.#options.windowMs;
      isOpened = super.onFailure(nowMs);
    }
    if (!isOpened && isOwnOpened && !worksForOthers && this.#countOpen(nowMs) > 1) this.openNow(nowMs);
    return isOpened || isOwnOpened;
  }

  #countOpen(nowMs: number): number {
    return [...this.#own.values()].filter(({ circuit }) => circuit.stateAt(nowMs) === "open").length;
  }

  #ownOf(account: string): OwnCircuit {
    let own = this.#own.get(account);
    if (own === undefined) {
      const [oldest] = this.#own.keys();
      if (this.#own.size >= accountsMax && oldest !== undefined) this.#own.delete(oldest);
      own = { circuit: new CircuitBreaker(this.#options), countedUntilMs: 0 };
      this.#own.set(account, own);
    }
    return own;
  }
}

/** A refused key is refused for every call, so two refusals in ten minutes are enough. */
const keyCircuitOptions: CircuitBreakerOptions = {
  failuresMin: 2,
  windowMs: 600_000,
  openMs: 300_000,
  openMsMax: 3_600_000,
};

/** A shorter one is a placeholder such as `none`, for a server that accepts any. */
const keyCharactersMin = 8;
/** Tokens that are hidden: the one in use, and those before it that answers may still name. */
const tokensPerKey = 4;

const noKeys: ReadonlySet<number> = new Set();

/** One key of a plugin, and whether its provider accepts it. */
export interface PoolKey {
  readonly index: number;
  readonly key: string;
  readonly credential: ProviderCredential;
  readonly circuitBreaker: CircuitBreaker;
}

/**
 * The keys of one plugin, used in turn; one owner always gets the same key. A key that a provider refuses or limits is
 * paused.
 */
export class KeyPool {
  readonly #keys: readonly PoolKey[];
  readonly #secrets: readonly string[];
  /** Tokens that were fetched for its credentials, the newest last. */
  readonly #tokens = new Set<string>();
  #next = 0;

  constructor(keys: readonly string[]) {
    this.#keys = keys.map((key, index) => {
      const credential = readCredential(key);
      return { index, key, credential, circuitBreaker: new CircuitBreaker(keyCircuitOptions) };
    });
    const secrets = keys.flatMap(getSecrets).filter((secret) => secret.length >= keyCharactersMin);
    this.#secrets = secrets.flatMap(encodedForms);
  }

  get size(): number {
    return this.#keys.length;
  }

  /** How many can be used now; others are a last resort. */
  readyAt(nowMs: number): number {
    return this.#keys.filter(({ circuitBreaker }) => circuitBreaker.isReady(nowMs)).length;
  }

  /** How long all keys stay paused, in milliseconds; 0 if one is not. */
  openForMs(nowMs: number): number {
    if (this.size === 0) return 0;
    return Math.min(...this.#keys.map(({ circuitBreaker }) => circuitBreaker.pausedForMs(nowMs)));
  }

  /** Uses paused keys again. @param index Absent: all keys. */
  resume(index?: number): void {
    for (const key of this.#keys) if (index === undefined || key.index === index) key.circuitBreaker.resume();
  }

  /** The state of each key, by its index. */
  statesAt(nowMs: number): CircuitState[] {
    return this.#keys.map(({ circuitBreaker }) => circuitBreaker.stateAt(nowMs));
  }

  /**
   * Takes the next key that is not paused and was not tried in this call. If all are paused, the key whose pause ends
   * first. An owner always gets the same key while it can be used, so the provider's cache is found again.
   *
   * @returns `undefined` when every key was tried.
   */
  take(nowMs: number, tried: ReadonlySet<number> = noKeys, owner?: string): PoolKey | undefined {
    let best: PoolKey | undefined;
    const [keys, first] = owner === undefined ? [this.#keys, this.#next] : [sortFor(owner, this.#keys), 0];
    for (let step = 0; step < this.size; step++) {
      const key = keys[(first + step) % this.size] as PoolKey;
      if (tried.has(key.index)) continue;
      if (key.circuitBreaker.isReady(nowMs)) {
        best = key;
        break;
      }
      if (best === undefined || key.circuitBreaker.openUntilMs < best.circuitBreaker.openUntilMs) best = key;
    }
    if (best === undefined) return undefined;
    if (owner === undefined) this.#next = (best.index + 1) % this.size;
    best.circuitBreaker.begin(nowMs);
    return best;
  }

  /** The text with all keys replaced, however they are escaped or encoded there, for what a provider says to others. */
  hide(text: string): string {
    return replaceTexts(text, [...this.#secrets, ...[...this.#tokens].flatMap(encodedForms)], "[hidden]");
  }

  /** Hides a token as well from now on. */
  conceal(token: string): void {
    if (token.length < keyCharactersMin || this.#tokens.has(token)) return;
    this.#tokens.add(token);
    const [oldest] = this.#tokens;
    if (this.#tokens.size > tokensPerKey * this.size && oldest !== undefined) this.#tokens.delete(oldest);
  }
}

/** A paused plugin is paused for half a minute each time: it asks nobody, and may be repaired at any moment. */
const pluginCircuitOptions: CircuitBreakerOptions = {
  failuresMin: 5,
  windowMs: 60_000,
  openMs: 30_000,
  openMsMax: 30_000,
};
const implausibleMs = 3_600_000;

/**
 * The circuit breaker of a plugin's own code, for all of its routes. Only its own errors count (it threw, returned something
 * that is not an answer, did not end), not a provider that is down or an invalid request. As with a route, the odd requests
 * of one account pause it for that account alone. It is not probed by one call at a time: a call that its provider
 * refuses says nothing about it.
 */
export class PluginHealth extends RouteCircuit {
  #implausibleAtMs = Number.NEGATIVE_INFINITY;

  constructor() {
    super(pluginCircuitOptions);
  }

  /** Its provider reported more than a call can have used. */
  onImplausible(nowMs: number): void {
    this.#implausibleAtMs = nowMs;
  }

  /** Whether its provider did so in the last hour. */
  isImplausible(nowMs: number): boolean {
    return nowMs - this.#implausibleAtMs < implausibleMs;
  }
}
