import type { MachineAddresses, Model } from "../../provider/index.ts";
import { createPublicGet, type PublicGet } from "./download.ts";
import { HttpClient, type TimeoutScheduler } from "./http-client.ts";
import { ProviderLanes } from "./provider-lanes.ts";
import { resolveHost, SsrfGuard } from "./ssrf-guard.ts";
import { FairTurns } from "./turns.ts";
import { createOpenWebSocket, type OpenWebSocket } from "./web-socket.ts";

/** The limits on time and size of upstream responses. */
export interface UpstreamBounds {
  /** Until the head of the answer. */
  firstByteMsMax: number;
  /** Until the answer begins, all attempts together. */
  beginMsMax: number;
  /** Time limit of a whole call, to the end of its answer; also stops a plugin that never ends. */
  callMsMax: number;
  /** Between two chunks of an answer. */
  idleMsMax: number;
  /** No row of a model may have a longer silence: the operator has set it; absent: rows decide. */
  silenceMsMax?: number | undefined;
  /** Size limit of an answer that is not streamed, in bytes. */
  answerBytesMax: number;
  /** Size limit of a streamed answer, in bytes. */
  streamBytesMax: number;
}

/** Settings shared by all requests to providers. */
export interface Network {
  /** Sends requests to providers. */
  readonly client: HttpClient;
  /** Opens WebSockets to providers. */
  readonly openWebSocket: OpenWebSocket;
  /** WebSockets to providers that are kept between turns. */
  readonly lanes: ProviderLanes;
  /** Downloads files that callers name. */
  readonly publicGet: PublicGet;
  readonly timeouts: TimeoutScheduler;
  readonly turns: FairTurns;
  readonly now: () => number;
  readonly bounds: UpstreamBounds;
  readonly guard: SsrfGuard;
  readonly machine: MachineAddresses;
}

/** The longest silence of a provider that the row of a model sets; `undefined` if it sets none. */
export function getSilenceMs(
  { timeoutSeconds }: Pick<Model, "timeoutSeconds">,
  { silenceMsMax = Number.POSITIVE_INFINITY }: Pick<UpstreamBounds, "silenceMsMax">,
): number | undefined {
  return timeoutSeconds === undefined ? undefined : Math.min(timeoutSeconds * 1000, silenceMsMax);
}

const defaultBounds: UpstreamBounds = {
  firstByteMsMax: 300_000,
  beginMsMax: 600_000,
  callMsMax: 1_800_000,
  idleMsMax: 120_000,
  answerBytesMax: 128 * 1024 * 1024,
  streamBytesMax: 256 * 1024 * 1024,
};

export interface NetworkOptions {
  readonly bounds?: Partial<UpstreamBounds>;
  /** Sends requests to providers; absent: the platform's own. */
  readonly fetch?: typeof globalThis.fetch;
  /** Opens WebSockets to providers; absent: directly. */
  readonly openWebSocket?: OpenWebSocket;
  /** Downloads files that callers name; absent: from public addresses only. */
  readonly publicGet?: PublicGet;
  readonly guard?: SsrfGuard;
  /** Where the machine learns its own credentials; absent: nowhere. */
  readonly machine?: MachineAddresses | undefined;
}

export function openNetwork(timeouts: TimeoutScheduler, now: () => number, options: NetworkOptions = {}): Network {
  const { fetch = globalThis.fetch, openWebSocket = createOpenWebSocket(), publicGet = createPublicGet() } = options;
  const guard = options.guard ?? new SsrfGuard(resolveHost, now);
  const bounds = { ...defaultBounds, ...options.bounds };
  const { machine = {} } = options;
  const client = new HttpClient(fetch, now);
  const lanes = new ProviderLanes(now);
  return { client, openWebSocket, lanes, publicGet, timeouts, turns: new FairTurns(), now, bounds, guard, machine };
}
