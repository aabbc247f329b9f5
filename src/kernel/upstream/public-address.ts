import { BlockList, isIP } from "node:net";

const private4: [string, number][] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];
/** Everything outside 2000::/3 is refused; these lie inside it. */
const private6: [string, number][] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const blocked = new BlockList();
for (const [net, prefix] of private4) blocked.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of private6) blocked.addSubnet(net, prefix, "ipv6");
const global6 = new BlockList();
global6.addSubnet("2000::", 3, "ipv6");

/** Whether an address is of the public internet: not loopback, private, link-local, reserved or a mapped form of these. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !blocked.check(address, "ipv4");
  if (family === 6) return global6.check(address, "ipv6") && !blocked.check(address, "ipv6");
  return false;
}

/** Whether a host is written as an address of this machine or of a private network. */
export function isLocalHost(host: string): boolean {
  if (isIP(host) > 0) return !isPublicAddress(host);
  return /(^|\.)localhost\.?$/i.test(host);
}
