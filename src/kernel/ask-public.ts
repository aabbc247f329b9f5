import { HostGuard, type Resolve } from "./host-guard.ts";
import type { Ask } from "./wire/ask.ts";
import { WireClient, type WireOptions } from "./wire/wire-client.ts";

/**
 * Asks public addresses alone: what a name leads to is looked up once, for the connection, and refused there. Each
 * question by a client of its own, for which no host is trusted; callers name hosts without end, and none is kept.
 */
export function askPublicBy(resolve: Resolve, now: () => number, options: WireOptions = {}): Ask {
  const { lookup } = new HostGuard(resolve, now);
  return (question) => {
    const client = new WireClient({ now, lookup, bounds: { idleSocketsMax: 0 }, ...options });
    return client.ask(question).finally(() => client.close());
  };
}
