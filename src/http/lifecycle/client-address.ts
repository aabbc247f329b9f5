import { isIP } from "node:net";
import { createNetworkList } from "../../contract/index.ts";

/** Reads the address of the client of a request, given the address of the connection and `x-forwarded-for`. */
export type ReadClientAddress = (peer: string, forwardedFor: string | null) => string;

/**
 * `x-forwarded-for` is read from the right, where each proxy adds the address it was connected from, up to the first
 * address that is not a trusted proxy: what stands further left can be written by anybody.
 *
 * @param proxies Addresses and CIDR ranges, as `TRUSTED_PROXIES` has them.
 */
export function readClientAddress(proxies: readonly string[]): ReadClientAddress {
  const { has: isTrusted } = createNetworkList(proxies);
  return (peer, forwardedFor) => {
    let address = parseAddress(peer);
    if (address === undefined) return peer;
    const hops = forwardedFor?.split(",") ?? [];
    while (isTrusted(address)) {
      const hop = parseAddress(hops.pop() ?? "");
      if (hop === undefined) break;
      address = hop;
    }
    return address;
  };
}

/** The part of Bun's server that knows who a request is from. */
export interface Clients {
  requestIP(request: Request): { address: string } | null;
}

const readers = new WeakMap<readonly string[], ReadClientAddress>();

/** The address of the client of a request; `unknown` without a server. */
export function clientAddressOf(
  { trustedProxies }: { readonly trustedProxies: readonly string[] },
  request: Request,
  server: Clients | null,
): string {
  let read = readers.get(trustedProxies);
  if (read === undefined) {
    read = readClientAddress(trustedProxies);
    readers.set(trustedProxies, read);
  }
  return read(server?.requestIP(request)?.address ?? "unknown", request.headers.get("x-forwarded-for"));
}

/** The network whose attempts are counted: an IPv4 address, or the /64 that one customer gets of IPv6. */
export function toNetwork(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = "", tail] = address.split("::");
  const groups = head.split(":");
  if (tail !== undefined) {
    const rest = tail === "" ? [] : tail.split(":");
    while (groups.length + rest.length < 8) groups.push("0");
  }
  const network = groups.slice(0, 4).map((group) => group || "0");
  return `${network.join(":")}::/64`;
}

/** An address without port, brackets or zone, in its shortest form; IPv4 also where it is written as IPv6. */
function parseAddress(text: string): string | undefined {
  const [host = ""] = text
    .trim()
    .replace(/^\[(.*)\](:\d+)?$/, "$1")
    .replace(/^([\d.]+):\d+$/, "$1")
    .split("%");
  if (isIP(host) === 4) return host;
  if (isIP(host) !== 6) return undefined;
  const short = new URL(`http://[${host}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  const bits = (Number.parseInt(high, 16) << 16) | Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join(".");
}
