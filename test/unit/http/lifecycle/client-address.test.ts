import { describe, expect, test } from "bun:test";
import { readClientAddress, toNetwork } from "../../../../src/http/lifecycle/http-call.ts";

const read = readClientAddress(["127.0.0.0/8", "::1", "10.0.0.0/8", "fd00::/8", "192.0.2.7"]);

describe("the address of a client", () => {
  test.each([
    ["198.51.100.1", null, "198.51.100.1", "a connection without a proxy"],
    ["198.51.100.1", "203.0.113.9", "198.51.100.1", "a stranger who names another"],
    ["10.1.2.3", "203.0.113.9", "203.0.113.9", "a trusted proxy"],
    ["192.0.2.7", "203.0.113.9", "203.0.113.9", "a trusted proxy without a range"],
    ["192.0.2.8", "203.0.113.9", "192.0.2.8", "the neighbour of a trusted proxy"],
    ["fd12::3", "2001:DB8:0:0::9", "2001:db8::9", "a trusted proxy over IPv6"],
    ["::ffff:10.1.2.3", "203.0.113.9", "203.0.113.9", "IPv4 on a socket for both"],
    ["::ffff:a01:203", "::ffff:203.0.113.9", "203.0.113.9", "IPv4 written as IPv6"],
    ["10.1.2.3", "1.2.3.4, 203.0.113.9", "203.0.113.9", "a client that writes an address before its own"],
    ["10.1.2.3", "1.2.3.4, 203.0.113.9, 10.9.9.9, 127.0.0.1", "203.0.113.9", "several trusted proxies"],
    ["10.1.2.3", "10.7.7.7, 10.9.9.9", "10.7.7.7", "a client inside the trusted network"],
    ["10.1.2.3", "203.0.113.9, unknown", "10.1.2.3", "a hop that is not an address"],
    ["10.1.2.3", "203.0.113.9,", "10.1.2.3", "an empty hop"],
    ["10.1.2.3", "", "10.1.2.3", "an empty header"],
    ["10.1.2.3", "203.0.113.9:4711", "203.0.113.9", "a proxy that adds ports"],
    ["10.1.2.3", "[2001:db8::9]:4711", "2001:db8::9", "a proxy that adds ports to IPv6"],
    ["10.1.2.3", "fe80::1%eth0", "fe80::1", "an address with a zone"],
    ["unknown", "203.0.113.9", "unknown", "a connection without an address"],
  ])("is read from %s and %p as %s: %s", (peer, header, expected) => {
    expect(read(peer, header)).toBe(expected);
  });

  test.each([
    ["203.0.113.9", "203.0.113.9"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::", "2001:db8:1:2::/64"],
    ["2001:db8::6", "2001:db8:0:0::/64"],
    ["2001:db8:0:0:ffff::6", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["unknown", "unknown"],
  ])("%s is counted as %s", (address, expected) => {
    expect(toNetwork(address)).toBe(expected);
  });
});
