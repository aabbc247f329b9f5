import { getForm, type ProviderCredential, type ProviderPlugin } from "../../contract/index.ts";
import type { Route } from "../routing/registry.ts";

/** Where a credential's requests go: where the operator or the credential says, else where the plugin does. */
export function getBaseUrl(
  { plugin, baseUrl, isBaseUrlGiven }: Pick<Route, "plugin" | "baseUrl" | "isBaseUrlGiven">,
  credential: ProviderCredential | undefined,
): string {
  const form = getForm(plugin.credential);
  if (form === undefined || credential === undefined) return baseUrl;
  const own = isBaseUrlGiven === true ? undefined : form.baseUrl?.(credential.fields);
  return (own ?? baseUrl).replace(/\/+$/, "") + (form.basePath?.(credential.fields) ?? "");
}

/** So much of a token endpoint's answer is read. */
export const tokenBytesMax = 65_536;
/** A token is fetched for all calls that wait for it, so that no caller's own deadline counts. */
export const tokenMsMax = 10_000;

/** Whether a token may be fetched there: a declared host, or one that the credential's own fields name. */
export function isTokenHost(plugin: ProviderPlugin, credential: ProviderCredential, url: URL): boolean {
  if (isDeclaredHost(plugin.hosts, url)) return true;
  return getTokenUrls(plugin, credential).some((known) => URL.parse(known)?.origin === url.origin);
}

/** Whether an address is of one of these hosts, by TLS. `*.example.com` are all below. */
export function isDeclaredHost(hosts: readonly string[], { host, protocol }: URL): boolean {
  const isListed = hosts.some((known) => (known.startsWith("*.") ? host.endsWith(known.slice(1)) : known === host));
  return isListed && protocol === "https:";
}

/** The token endpoints that a credential names itself. */
function getTokenUrls(plugin: Pick<ProviderPlugin, "credential">, { fields }: ProviderCredential): readonly string[] {
  return getForm(plugin.credential)?.tokenUrls?.(fields) ?? [];
}
