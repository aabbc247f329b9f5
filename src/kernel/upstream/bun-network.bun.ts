import { createPublicGet, type PublicGetOptions } from "./download.ts";
import { monotonicNow, TimeoutScheduler } from "./http-client.ts";
import { type Network, type NetworkOptions, openNetwork } from "./network.ts";
import { createOpenWebSocket } from "./web-socket.ts";

/** Seconds. Most servers and load balancers close an idle connection after 60 s, and Bun may take 8 s longer than configured. */
const idleTimeout = 48;

interface BunNetworkOptions {
  readonly bounds?: NetworkOptions["bounds"] | undefined;
  readonly proxyEnv?: PublicGetOptions["proxyEnv"];
  readonly machine?: NetworkOptions["machine"];
}

/**
 * The network of a gateway under Bun. Connections to providers have a pool of their own, where they are closed before the
 * provider does it, and their certificates are verified whatever the environment says.
 */
export function openBunNetwork({ bounds = {}, proxyEnv, machine }: BunNetworkOptions) {
  const session = new Bun.FetchSession({ keepAlive: { idleTimeout }, tls: { rejectUnauthorized: true } });
  const network: Network = openNetwork(new TimeoutScheduler(), monotonicNow, {
    bounds,
    fetch: session.fetch as typeof globalThis.fetch,
    openWebSocket: createOpenWebSocket({ proxyEnv }),
    publicGet: createPublicGet({ proxyEnv }),
    machine,
  });
  /** Closes idle connections. Those in use go on. */
  const close = () => session.close();
  return { network, close };
}
