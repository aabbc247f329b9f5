import { BlockList, isIP } from "node:net";

/** Form of a network, for error messages. */
export const networkForm = "an address or a CIDR range such as 10.0.0.0/8";

/** Whether a text is an IP address or a CIDR range. */
export function isNetwork(text: string): boolean {
  const [, address = "", bits] = /^([\da-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  return version !== 0 && (bits === undefined || Number(bits) <= (version === 4 ? 32 : 128));
}

/** A set of networks. */
export interface NetworkList {
  /** Whether an address is in one of them; a text that is no address is in none. */
  has(address: string): boolean;
}

/** @param networks Addresses and CIDR ranges; each has passed {@link isNetwork}. */
export function createNetworkList(networks: readonly string[]): NetworkList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    const isV4 = isIP(address) === 4;
    list.addSubnet(address, bits === undefined ? (isV4 ? 32 : 128) : Number(bits), isV4 ? "ipv4" : "ipv6");
  }
  return { has: (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6") };
}
