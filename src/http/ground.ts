import type { Caller, Ledger } from "../contract/index.ts";
import type { Gate, Kernel, Log } from "../kernel/index.ts";
import type { BodyMemoryLimiter } from "./body-memory.ts";
import type { Desk } from "./desk.ts";
import type { KeepAlive } from "./keep-alive.ts";
import type { Site } from "./site.ts";

/** Generated pictures kept for their hour. */
export interface Files {
  put(file: { mediaType: string; bytes: Uint8Array; expiresAt: number }): Promise<string>;
  get(id: string): Promise<{ mediaType: string; bytes: Uint8Array; expiresAt: number } | undefined>;
}

/** Says whose key a token is. @throws {GatewayError} `invalid_api_key` */
export type Authenticate = (token: string) => Caller | Promise<Caller>;

/** What the HTTP side stands on. */
export interface HttpGround {
  readonly kernel: Kernel;
  readonly ledger: Ledger;
  readonly authenticate: Authenticate;
  /** Where calls come in. */
  readonly gate: Gate;
  /** The memory for large bodies. */
  readonly bodies: BodyMemoryLimiter;
  /** Keeps silent streams alive. */
  readonly keepAlive: KeepAlive;
  readonly files: Files;
  /** Signs the addresses of files. */
  readonly signingSecret: string;
  readonly log: Log;
  readonly now: () => number;
  /** Where the API is mounted, beside `/v1`. */
  readonly basePath: string;
  /** Origins whose pages may call the API from a browser, `*` for any; none of another's when it is empty. */
  readonly corsOrigins: readonly string[];
  /** Whether answers are simulated. */
  readonly sandbox: boolean;
  readonly version: string;
  /** Sentences about what is not in order; empty means ready. */
  readonly troubles: () => Promise<string[]>;
  /** Sentences about what is worse than it should be while calls are served all the same; absent: never any. */
  readonly degraded?: () => string[];
  /** What people who sign in may do; absent: an API alone, where nobody does. */
  readonly desk?: Desk;
  /** The page at `/`; absent: none is served. */
  readonly site?: Site | undefined;
  /** Metrics on the API's port, for those who are allowed to read them; absent: they are not there. */
  readonly metrics?: { isAllowed(authorization: string | null): boolean; scrape(): Promise<Response> } | undefined;
  /** Sentences about plugins and prices that were not taken up; it is ready all the same. */
  readonly warnings: () => readonly string[];
}
