import type { Ledger } from "../contract/index.ts";
import type { CallObserver } from "./call-watch.ts";
import type { Registry } from "./routing/registry.ts";
import type { Network } from "./upstream/network.ts";

/** Where sentences for the operator go. `fields` are small and never hold a secret or a prompt. */
export interface Log {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
}

/** What every call needs. `registry` is read once at the start of a call, which finishes on the one it began with. */
export interface Kernel {
  registry: Registry;
  readonly ledger: Ledger;
  readonly network: Network;
  readonly log: Log;
  readonly now: () => number;
  /** Who counts and traces calls; absent: nobody does. */
  readonly watch?: CallObserver | undefined;
  /** From 0 to below 1, to draw among equal routes; absent: the platform's. */
  readonly random?: (() => number) | undefined;
  /** Waits before a retry; absent: by a timer. */
  readonly pause?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
}
