import { BlockList, isIP } from "node:net";
import { GatewayError } from "../contract/index.ts";
import { isLocalHost } from "../kernel/index.ts";
import type { ProviderPlugin } from "../provider/index.ts";
import { readManifest } from "./manifest.ts";

const bytesMax = 64 * 1024;

/**
 * Addresses where cloud machines fetch their own credentials: the link-local ranges, and the other addresses used by
 * AWS, Google Cloud, Alibaba Cloud and Azure, in this order.
 */
const metadata = new BlockList();
metadata.addSubnet("169.254.0.0", 16, "ipv4");
metadata.addSubnet("fe80::", 10, "ipv6");
metadata.addAddress("fd00:ec2::254", "ipv6");
metadata.addAddress("fd20:ce::254", "ipv6");
metadata.addAddress("100.100.100.200", "ipv4");
metadata.addAddress("168.63.129.16", "ipv4");
/** Prefixes of 96 bits before an IPv4 address written as IPv6: mapped, compatible, and translated by NAT64. */
const embedding = ["::ffff:", "::", "64:ff9b::"];

/**
 * Checks a manifest written by an administrator, by the rules of a file in the plugins folder. In addition, no key may
 * travel in clear text outside this machine and private networks. The gateway sends requests to the address in the
 * manifest, and administrators see a part of the answers. So only owners decide which parts of the operator's network
 * it may reach, and no administrator can make it request a cloud's credentials for the machine.
 *
 * @param isOwner Whether an owner or a command adds the manifest.
 * @returns The plugin, and the text of its manifest.
 * @throws {GatewayError} `invalid_request`, `forbidden`
 */
export function checkManifest(
  name: string,
  manifest: unknown,
  isOwner: boolean,
): { plugin: ProviderPlugin; text: string } {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name) || name.length > 60) {
    throw invalid("name", "Use small letters, digits and hyphens for the name, such as my-provider");
  }
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  if (text.length > bytesMax) throw invalid("manifest", `The manifest has more than ${bytesMax} bytes`);
  const plugin = readPlugin(name, manifest);
  checkHosts(plugin, isOwner);
  if (sendsKeyInClear(plugin)) {
    throw invalid(
      "base_url",
      "The key would be sent in clear text; use https, or http for an address of your own network",
    );
  }
  return { plugin, text };
}

function checkHosts({ baseUrl, hosts }: ProviderPlugin, isOwner: boolean): void {
  checkAddresses([new URL(baseUrl), ...hosts.map((host) => new URL(`https://${host.replace("*.", "")}`))], isOwner);
}

/**
 * Refuses addresses that an administrator may not have the gateway ask.
 *
 * @throws {GatewayError} `invalid_request`, `forbidden`
 */
export function checkAddresses(all: readonly URL[], isOwner: boolean): void {
  const names = all.map(({ hostname }) => hostname.replace(/^\[|\]$/g, ""));
  if (names.some(isMetadataAddress)) {
    throw invalid(
      "base_url",
      "This is a link-local address, where no provider is but a cloud may give credentials away",
    );
  }
  if (isOwner || !names.some(isLocalHost)) return;
  const message = "Only owners add providers on this machine or in private networks; ask one of them";
  throw new GatewayError("forbidden", message, { param: "base_url" });
}

/** Whether a host is a metadata address of a cloud, however it is written. */
function isMetadataAddress(host: string): boolean {
  const family = isIP(host);
  // A name that leads to one is refused when it is looked up, as every name that leads to a private address is.
  if (family === 0) return false;
  if (family === 4) return metadata.check(host, "ipv4");
  if (metadata.check(host, "ipv6")) return true;
  // In its shortest form, as `URL` writes it.
  const short = new URL(`http://[${host}]`).hostname.slice(1, -1);
  return embedding.some((prefix) => {
    const [, high = "", low = ""] = /^([\da-f]{1,4}):([\da-f]{1,4})$/.exec(short.slice(prefix.length)) ?? [];
    if (!short.startsWith(prefix) || high === "") return false;
    const bits = (Number.parseInt(high, 16) << 16) | Number.parseInt(low, 16);
    return metadata.check([24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join("."), "ipv4");
  });
}

/** Whether the key of a plugin would travel in clear text beyond this machine and private networks. */
export function sendsKeyInClear({ credential, baseUrl }: Pick<ProviderPlugin, "credential" | "baseUrl">): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return credential !== "none" && protocol === "http:" && !isLocalHost(hostname.replace(/^\[|\]$/g, ""));
}

function readPlugin(name: string, manifest: unknown): ProviderPlugin {
  try {
    const plugin = readManifest(manifest, name);
    if (plugin.name === name) return plugin;
  } catch (error) {
    const reason = (error as Error).message.replace(/^Cannot load the plugin( \S+)?: /, "");
    throw invalid(/^baseUrl/.test(reason) ? "base_url" : "manifest", `The provider cannot be added: ${reason}`);
  }
  throw invalid("name", `The manifest names another provider; leave out its name or write ${name}`);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
