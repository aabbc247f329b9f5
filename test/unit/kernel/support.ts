import { sampleCredential } from "../../../src/cli/plugin-check/sample-credential.ts";
import {
  type AdmissionRequest,
  type Caller,
  type Capability,
  type Extension,
  GatewayError,
  type Hold,
  type Ledger,
  type LimitState,
  type LimitsUsage,
  type Settlement,
  UpstreamError,
} from "../../../src/contract/index.ts";
import {
  Attempt,
  buildRegistry,
  ClientCall,
  type ClientRequest,
  type Credential,
  type ExchangeAnswer,
  type ExchangeRequest,
  findCandidates,
  type Kernel,
  type Log,
  type ModelEntry,
  ModelRun,
  openNetwork,
  PromptCaching,
  type Route,
  runCall as runKernelCall,
  type StreamSink,
  TimeoutScheduler,
} from "../../../src/kernel/index.ts";
import { UsageMeter } from "../../../src/kernel/normalize/usage-meter.ts";
import { KeyPool } from "../../../src/kernel/routing/circuits.ts";
import type { Network, UpstreamBounds } from "../../../src/kernel/upstream/network.ts";
import { SsrfGuard } from "../../../src/kernel/upstream/ssrf-guard.ts";
import type { Handlers, Model, ProviderPlugin } from "../../../src/provider/index.ts";
import type { PluginDefinition } from "../../../src/sdk/define-plugin.ts";
import { definePlugin } from "../../../src/sdk/index.ts";
import { errorOf } from "../../support/error-of.ts";

export const startMs = 1_790_000_000_000;

/** A clock that stands until it is told to go on. */
export class FakeClock {
  nowMs = startMs;
  readonly now = () => this.nowMs;
  readonly timeouts = new TimeoutScheduler(this.now);

  /** Lets time pass, and fires what falls due. */
  pass(ms: number): void {
    this.nowMs += ms;
    this.timeouts.tick();
  }
}

const limitState: LimitState = {
  limitRequests: 60,
  remainingRequests: 59,
  resetRequestsMs: 1000,
  limitTokens: 100_000,
  remainingTokens: 99_000,
  resetTokensMs: 600,
};

/** A ledger that admits everything unless told to refuse, and remembers what was asked of it. */
export class FakeLedger implements Ledger {
  readonly claims: AdmissionRequest[] = [];
  readonly settlements: Settlement[] = [];
  readonly extensions: Extension[] = [];
  refusal: Error | undefined;
  extensionRefusal: Error | undefined;
  /** What of a hold is other than what was asked. */
  granted: Partial<Hold> = {};
  settleFailure: Error | undefined;
  /** Told of each step, to check the order of things. */
  onStep: (step: "admit" | "settle") => void = () => undefined;

  async admit(admission: AdmissionRequest): Promise<Hold> {
    this.onStep("admit");
    if (this.refusal !== undefined) throw this.refusal;
    this.claims.push(admission);
    const { callId, holdNanodollars, holdTokens } = admission;
    return {
      callId,
      heldNanodollars: holdNanodollars,
      heldTokens: holdTokens,
      limits: limitState,
      availableNanodollars: Number.MAX_SAFE_INTEGER,
      availableTokens: Number.MAX_SAFE_INTEGER,
      ...this.granted,
    };
  }

  async extend(extension: Extension) {
    this.extensions.push(extension);
    if (this.extensionRefusal !== undefined) throw this.extensionRefusal;
    return { heldNanodollars: extension.holdNanodollars, heldTokens: extension.holdTokens };
  }

  async settle(settlement: Settlement): Promise<void> {
    this.onStep("settle");
    this.settlements.push(settlement);
    if (this.settleFailure !== undefined) throw this.settleFailure;
  }

  async countRequest() {
    return limitState;
  }

  checkRequests(): void {}

  async readWalletState() {
    return { balanceNanodollars: 5_000_000_000, heldNanodollars: 1_000_000_000 };
  }

  async readQuotaState() {
    return { limitTokens: 250_000, usedTokens: 1000, heldTokens: 500, resetsAt: Date.UTC(2026, 10, 22) };
  }

  async readLimitState() {
    return limitState;
  }

  async readLimitsUsage(): Promise<LimitsUsage> {
    return { calls: { limit: undefined, running: 1 }, budgets: [] };
  }

  /** The one settlement of the one call. @throws When there was another number of them. */
  get settlement(): Settlement {
    const [only, ...others] = this.settlements;
    if (only === undefined || others.length > 0) throw new Error(`${this.settlements.length} settlements, not one`);
    return only;
  }
}

export type LogLine = { level: keyof Log; event: string; fields: Record<string, unknown> | undefined };

/** A log that keeps its lines. */
export function keepLog(): Log & { lines: LogLine[] } {
  const lines: LogLine[] = [];
  const keep = (level: keyof Log) => (event: string, fields?: Record<string, unknown>) => {
    lines.push({ level, event, fields });
  };
  return { lines, debug: keep("debug"), info: keep("info"), warn: keep("warn"), error: keep("error") };
}

export const caller: Caller = {
  accountId: "account-1",
  keyId: "key-1",
  limits: { requestsPerMinute: 60, tokensPerMinute: 100_000 },
  freeTokensPerDay: 250_000,
};

const million = 1_000_000;

/** A premium chat model: $1 a million input tokens, $2 a million output tokens. */
export const chatModel: Model = {
  id: "chat-1",
  upstreamId: "upstream-chat-1",
  capability: "chat",
  premium: true,
  contextTokens: 8000,
  outputTokensMax: 1000,
  reasoning: false,
  ownedBy: "acme",
  created: 1_700_000_000,
  price: { inputToken: { usd: "1", per: million }, outputToken: { usd: "2", per: million } },
};

/** A plugin of one model, `chat-1` unless told otherwise. It says that its chat sends all fields, unless that says more. */
export function createPlugin(handlers: Handlers, changes: Partial<PluginDefinition> = {}): ProviderPlugin {
  if (handlers.chat !== undefined) handlers.chat.omits ??= () => [];
  const baseUrl = `https://${changes.name ?? "acme"}.example/v1`;
  return definePlugin({ name: "acme", baseUrl, models: [chatModel], handlers, ...changes });
}

export interface Bench {
  kernel: Kernel;
  /** How long retries waited, in milliseconds. */
  pauses: number[];
  ledger: FakeLedger;
  clock: FakeClock;
  log: ReturnType<typeof keepLog>;
  network: Network;
}

interface BenchOptions {
  fetch?: FakeFetch;
  credentials?: Record<string, Credential>;
  bounds?: Partial<UpstreamBounds>;
  random?: () => number;
  promptCaching?: PromptCaching;
}

export type FakeFetch = (url: string, init: RequestInit) => Promise<Response>;

/** A kernel over fakes. Every plugin has one key, `key-a`, unless `credentials` names others. */
export function createBench(plugins: readonly ProviderPlugin[], options: BenchOptions = {}): Bench {
  const clock = new FakeClock();
  const ledger = new FakeLedger();
  const log = keepLog();
  const noNetwork: FakeFetch = () => Promise.reject(new Error("This test has no network"));
  const fetch = (options.fetch ?? noNetwork) as unknown as typeof globalThis.fetch;
  const network: Network = openNetwork(clock.timeouts, clock.now, {
    bounds: options.bounds ?? {},
    fetch,
    publicGet: (url, signal) => fetch(url.href, { signal, redirect: "manual" }),
    guard: new SsrfGuard(async () => ["93.184.216.34"], clock.now),
  });
  const keyOf = (name: string) => {
    const plugin = plugins.find((one) => one.name === name);
    return plugin === undefined ? "key-a" : sampleCredential(plugin, "key-a");
  };
  const credentialOf = (name: string) => options.credentials?.[name] ?? { keys: [keyOf(name)] };
  const { registry, refused } = buildRegistry(plugins, credentialOf);
  if (refused.length > 0) throw new Error(refused.map(({ message }) => message).join("\n"));
  const pauses: number[] = [];
  const pause = async (ms: number) => {
    pauses.push(ms);
  };
  const kernel: Kernel = {
    registry,
    ledger,
    network,
    log,
    now: clock.now,
    promptCaching: options.promptCaching ?? new PromptCaching(),
    pause,
    random: options.random ?? (() => 0.5),
  };
  return { kernel, pauses, ledger, clock, log, network };
}

const messages = [{ role: "user" as const, content: "Say hello" }];

/** What of a call is other than usual. */
interface CallOptions extends Omit<Partial<ClientRequest>, "sink" | "capability" | "body"> {
  /** The models that the client listed. */
  models?: readonly string[] | undefined;
  sink?: StreamSink<never> | undefined;
}

/** The models that the client of a call listed. */
const modelsOf = new WeakMap<object, readonly string[]>();

/** A call of any capability. */
export function callOf<C extends Capability>(
  capability: C,
  body: ExchangeRequest<C>,
  { sink, models, ...options }: CallOptions = {},
): ClientCall<C> {
  const request = {
    id: "req_0123456789abcdefghjkmnpqrs",
    openedAt: startMs,
    startedMs: options.openedAt ?? startMs,
    caller,
    protocol: "chat",
    ...options,
    capability,
    body,
    sink,
  };
  const call = new ClientCall(request as unknown as ClientRequest<C>);
  if (models !== undefined) modelsOf.set(call, models);
  return call;
}

/** A call that nobody runs. */
export const newCall = (options: CallOptions = {}): ClientCall => chatCall({}, options) as unknown as ClientCall;

/** A model that is tried for a call, before it is admitted. */
export function runOf<C extends Capability>(call: ClientCall<C>, modelEntry: ModelEntry): ModelRun<C> {
  return new ModelRun(call, { modelEntry }, { usageMeterOf: () => new UsageMeter(async () => ({})) });
}

/** An attempt at a route by a call of its own. */
export function attemptOf(route: Route, key = new KeyPool(["key-a"]).take(startMs)): Attempt {
  const run = runOf(newCall(), { model: route.model, compiledPrice: undefined, routes: [route] });
  return new Attempt(run, { route, key, nowMs: startMs, promptCaching: new PromptCaching() });
}

/** Finds the models of a call and runs it, as an endpoint does. */
export async function runCall<C extends Capability>(kernel: Kernel, call: ClientCall<C>): Promise<ExchangeAnswer<C>> {
  const { body, sink, ...about } = call.request;
  const { model } = body as { model: string };
  const query = { ...about, model, models: modelsOf.get(call), isStream: sink !== undefined };
  return await runKernelCall(kernel, call, findCandidates(kernel, query));
}

/** A chat call of `chat-1`. */
export function chatCall(request: Record<string, unknown> = {}, options: CallOptions = {}) {
  return callOf("chat", { model: "chat-1", messages, ...request }, options);
}

/** What a promise was rejected with. @throws When it was not, or with what is not an error for the caller. */
export async function rejectionOf(promise: Promise<unknown>): Promise<GatewayError> {
  const error = await errorOf(promise);
  if (error instanceof GatewayError) return error;
  throw new Error("Expected a GatewayError", { cause: error });
}

/** What a promise was rejected with. @throws When it was not, or with something else than a fault. */
export async function upstreamErrorOf(promise: Promise<unknown>): Promise<UpstreamError> {
  const error = await errorOf(promise);
  if (error instanceof UpstreamError) return error;
  throw new Error("Expected an UpstreamError", { cause: error });
}
