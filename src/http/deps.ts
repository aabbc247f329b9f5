import type { Accounts, Payments, paymentDesk, SignIn } from "../accounts/index.ts";
import type { Config } from "../config.ts";
import type { Ledger } from "../contract/index.ts";
import type { Kernel, LoadShedder, Log } from "../kernel/index.ts";
import type { callsElsewhere } from "../ledger/index.ts";
import type { Shelf } from "../loader/index.ts";
import type { Store } from "../store/index.ts";
import type { BodyMemoryLimiter } from "./body-memory.ts";
import type { SseHeartbeat } from "./sse-heartbeat.ts";
import type { StaticAssets } from "./static-assets.ts";

/** What the HTTP side is built on; `app.ts` puts it together. */
export interface HttpDeps {
  readonly config: Config;
  readonly version: string;
  readonly log: Log;
  readonly now: () => number;
  readonly store: Store;
  readonly accounts: Accounts;
  readonly signIn: SignIn;
  /** Takes payments; absent: none are taken. */
  readonly payments: Payments | undefined;
  /** Says where the browser goes to pay. */
  readonly beginPayment: ReturnType<typeof paymentDesk>;
  readonly ledger: Ledger;
  readonly kernel: Kernel;
  /** What is on sale now, and whether answers are simulated. */
  readonly shelf: () => Pick<Shelf, "plugins" | "states" | "sandbox" | "warnings">;
  /** The calls that other processes run; absent where this is the only one. */
  readonly callsElsewhere?: ReturnType<typeof callsElsewhere> | undefined;
  /** Sheds load: where calls come in. */
  readonly gate: LoadShedder;
  /** The memory for large bodies. */
  readonly bodies: BodyMemoryLimiter;
  /** Keeps silent streams alive. */
  readonly heartbeat: SseHeartbeat;
  /** Signs the addresses of generated files. */
  readonly signingSecret: string;
  /** Why the gateway is not ready, in sentences; empty means ready. */
  readonly troubles: () => Promise<string[]>;
  /** What is worse than it should be while calls are served all the same, in sentences; absent: never anything. */
  readonly degraded?: () => string[];
  /** The dashboard's files; absent: none are served. */
  readonly site?: StaticAssets | undefined;
  /** Metrics on the API's port; absent: they are not there. */
  readonly metrics?: { isAllowed(authorization: string | null): boolean; scrape(): Promise<Response> } | undefined;
}
