import type { Config } from "../config/index.ts";
import type { Capability, Ledger } from "../contract/index.ts";
import type { Store } from "../db/index.ts";
import type { SessionUser, SignIn, TokenIssuers } from "../identity/index.ts";
import type { ClientCall, ClientRequest, ExchangeAnswer, Kernel, LoadShedder, Log } from "../kernel/index.ts";
import type { Accounts } from "../keys/index.ts";
import type { remoteCalls } from "../ledger/index.ts";
import type { OperatorCatalogueEditor, PluginSnapshot, Providers, SecretBox } from "../providers/index.ts";
import type { KeyCallers, RefusalLog, UsageRollup } from "../reports/index.ts";
import type { MemoryAccountant } from "./memory/call-memory.ts";
import type { EndedBranches } from "./sessions/ended-branches.ts";
import type { SseHeartbeat } from "./sse/sse-stream.bun.ts";

/** Facts about the gateway by their names in JSON, such as whether a feature is on. */
export type Facts = Readonly<Record<string, string | number | boolean | null>>;

export type Attention = Readonly<Record<string, number>>;

/** Looks at a call that begins; `undefined` if it has nothing to do with it. */
export type CallWatcher = <C extends Capability>(request: ClientRequest<C>) => CallWatch<C> | undefined;

export interface CallWatch<C extends Capability> {
  /** The request to run: the pieces of a stream can be seen on their way. */
  readonly request: ClientRequest<C>;
  /** @param answer Undefined for a stream, and for a call that failed. */
  ended(call: ClientCall<C>, answer: ExchangeAnswer<C> | undefined): void;
}

/** Hooks of all modules as one. */
export interface ModuleHooks {
  /** Facts for the pages of the dashboard. */
  readonly facts: () => Facts;
  /** Facts about a request of the log, for a user who looks at it. */
  readonly requestFacts: (user: SessionUser, id: string) => Promise<Facts>;
  /** How many matters need somebody, by the path of the page that shows them. */
  readonly attention: () => Promise<Attention>;
  readonly watchers: readonly CallWatcher[];
}

/** The parts of the gateway that the HTTP side uses; `app.ts` wires them. */
export interface HttpDeps extends ModuleHooks {
  readonly config: Config;
  readonly version: string;
  readonly log: Log;
  readonly now: () => number;
  /** The server; null until it listens. */
  readonly server: () => Sockets | null;
  readonly store: Store;
  readonly accounts: Accounts;
  readonly signIn: SignIn;
  /** The issuers whose tokens (JWT) are accepted in place of API keys. */
  readonly tokenIssuers: TokenIssuers;
  readonly ledger: Ledger;
  /** Where refused requests are recorded; absent: nowhere. */
  readonly refusals?: RefusalLog | undefined;
  /** Sums of requests; absent: only sums that are in the database are shown. */
  readonly rollup?: Pick<UsageRollup, "freshen"> | undefined;
  /** Counts from where keys are used; absent: nothing is counted. */
  readonly keyCallers?: Pick<KeyCallers, "note" | "freshen"> | undefined;
  readonly kernel: Kernel;
  /** The plugins loaded now, and whether answers are simulated. */
  readonly snapshot: () => Pick<PluginSnapshot, "plugins" | "policies" | "states" | "sandbox" | "warnings">;
  /** Actions of administrators on providers. */
  readonly providers: Providers;
  /** The operator's own rows. */
  readonly catalogue: Pick<OperatorCatalogueEditor, "layers" | "read" | "check" | "reload">;
  /** Reads the running calls of other processes; absent when there is only this one. */
  readonly remoteCalls?: ReturnType<typeof remoteCalls> | undefined;
  /** Refuses calls of branches of sessions that were ended. */
  readonly endedBranches: Pick<EndedBranches, "expectOpen" | "load">;
  /** Sheds load. */
  readonly loadShedder: LoadShedder;
  /** Bounds what is in memory on behalf of callers. */
  readonly memory: MemoryAccountant;
  /** Sends heartbeats on silent streams. */
  readonly heartbeat: SseHeartbeat;
  /** Encrypts what the operator and account holders entrust to the database, such as the mail server. */
  readonly secrets: SecretBox;
  /**
   * 32 bytes, the same on all nodes, from the database: for stored answers, and what clients bring back unchanged, such as
   * hidden reasoning.
   */
  readonly sealKey: Uint8Array;
  /** Signs the URLs of generated files. */
  readonly signingSecret: string;
  /** Why the gateway is not ready, one message each; empty when it is. */
  readonly readinessProblems: () => Promise<string[]>;
  /** Degraded conditions while calls are still served, one message each. */
  readonly degraded?: () => string[];
  /** The files of the dashboard; absent when it is not served. */
  readonly site?: StaticAssets | undefined;
  /** Metrics on the API's port; absent when they are off or on a port of their own. */
  readonly metrics?: { isAllowed(authorization: string | null): boolean; scrape(): Promise<Response> } | undefined;
}

/** A file of the dashboard. */
interface StaticAsset {
  readonly mediaType: string;
  readonly bytes: Blob;
}

/** The part of Bun's server that knows who a request is from. */
export interface Clients {
  requestIP(request: Request): { address: string } | null;
}

/** The part of Bun's server used here. */
export interface Sockets extends Clients {
  /** Sets how long the socket of a request may be idle, in seconds; 0 means for ever. */
  timeout(request: Request, seconds: number): void;
  /** Makes a WebSocket of a request; false when it is no complete handshake. `data` has its events. */
  upgrade(request: Request, options: { data: object }): boolean;
}

/** The dashboard as files, by path; `/index.html` is the page. */
export interface StaticAssets {
  find(path: string): Promise<StaticAsset | undefined>;
}
