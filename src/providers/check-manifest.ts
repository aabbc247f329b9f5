import { GatewayError, type ProviderPlugin } from "../contract/index.ts";
import { isLocalHost } from "../kernel/index.ts";
import { readManifest } from "../plugin-loader/index.ts";

const bytesMax = 64 * 1024;

/**
 * Checks a manifest that an administrator wrote: by the rules of a file in the plugins folder, and no key may travel in
 * clear text beyond this machine and private networks.
 *
 * @returns The plugin, and the text of its file.
 * @throws {GatewayError} `invalid_request`
 */
export function checkManifest(name: string, manifest: unknown): { plugin: ProviderPlugin; text: string } {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name) || name.length > 60) {
    throw invalid("name", "Use small letters, digits and hyphens for the name, such as my-provider");
  }
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  if (text.length > bytesMax) throw invalid("manifest", `The manifest has more than ${bytesMax} bytes`);
  const plugin = readPlugin(name, manifest);
  if (sendsKeyInClear(plugin)) {
    throw invalid(
      "base_url",
      "The key would be sent in clear text; use https, or http for an address of your own network",
    );
  }
  return { plugin, text };
}

/** Whether the key of a plugin would travel in clear text beyond this machine and private networks. */
export function sendsKeyInClear({ credential, baseUrl }: Pick<ProviderPlugin, "credential" | "baseUrl">): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return credential === "key" && protocol === "http:" && !isLocalHost(hostname.replace(/^\[|\]$/g, ""));
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

function invalid(param: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", sentence, { param });
}
