import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { UpstreamError } from "../../contract/index.ts";
import { getForm, type ProviderCredential, type ProviderPlugin } from "../../provider/index.ts";
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

/** Maximum number of bytes read of a token endpoint's answer. */
export const tokenBytesMax = 65_536;
/** Timeout of a token request. All waiting calls share the request, so no single caller's deadline applies. */
export const tokenMsMax = 10_000;

/** Whether a token may be fetched there: a declared host, or one that the credential's own fields name. */
function isTokenHost(plugin: ProviderPlugin, credential: ProviderCredential, url: URL): boolean {
  if (isDeclaredHost(plugin.hosts, url)) return true;
  return getTokenUrls(plugin, credential).some((base) => URL.parse(base)?.origin === url.origin);
}

/** Whether an address is of one of these hosts, by TLS. `*.example.com` are all below. */
function isDeclaredHost(hosts: readonly string[], { host, protocol }: URL): boolean {
  const isListed = hosts.some((pattern) =>
    pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : pattern === host,
  );
  return isListed && protocol === "https:";
}

/** The token endpoints that a credential names itself. */
function getTokenUrls(plugin: Pick<ProviderPlugin, "credential">, { fields }: ProviderCredential): readonly string[] {
  return getForm(plugin.credential)?.tokenUrls?.(fields) ?? [];
}

const private4: [string, number][] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // Azure's own: it answers every machine there, with what the machine may know of itself.
  ["168.63.129.16", 32],
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

/** How long the result of a DNS lookup is fresh, and how long it is used at most while it is renewed in the background. */
const freshMs = 15_000;
const trustedMsMax = 60_000;

/** The result of the last lookup of a host. */
interface Verdict {
  readonly checkedAtMs: number;
  readonly isPublic: boolean;
}

interface Base {
  readonly host: string;
  readonly isLocal: boolean;
  /** Without TLS. */
  readonly isPlain: boolean;
}

/** Returns the addresses of a host name. Rejects if there are no addresses. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** Looks a name up by the operating system. */
export const resolveHost: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/**
 * Keeps plugins out of the operator's own network. A host name that resolves to a private address is refused, unless the
 * operator configured it: a base URL that is itself a private address or localhost, or `<NAME>_BASE_URL`. The check comes
 * before the request and costs a map lookup. `fetch` resolves the name again by itself, so a name that changes from a
 * public to a private address is noticed up to a minute late. Files that a caller names are checked at the connection
 * itself, by `createPublicGet`.
 */
export class SsrfGuard {
  readonly #resolve: Resolve;
  readonly #now: () => number;
  readonly #bases = new Map<string, Base>();
  readonly #verdicts = new Map<string, Verdict>();
  readonly #pending = new Map<string, Promise<void>>();

  constructor(resolve: Resolve, now: () => number) {
    this.#resolve = resolve;
    this.#now = now;
  }

  /**
   * Checks the host of a route's base URL.
   *
   * @returns `undefined` when it may be reached, or a promise of that when the name has to be looked up first.
   * @throws {UpstreamError} When it leads to a private address.
   */
  check({ baseUrl, isBaseUrlGiven }: Pick<Route, "baseUrl" | "isBaseUrlGiven">): Promise<void> | undefined {
    const base = this.#getBase(baseUrl);
    return !base.isLocal && !isBaseUrlGiven ? this.#checkHost(base.host) : undefined;
  }

  /**
   * Checks a whole URL: it must be of the base URL's origin, or of a host that the plugin declares.
   *
   * @throws {TypeError} When it is neither.
   * @throws {UpstreamError} When the host leads to a private address.
   */
  checkUrl(route: Route, text: string): Promise<void> | undefined {
    const url = URL.parse(text);
    if (url === null) throw new TypeError(`Cannot ask '${text}': expected a path that begins with '/', or a whole URL`);
    const base = new URL(route.baseUrl);
    if (url.origin === base.origin) return this.check(route);
    const asDeclared = url.protocol === base.protocol ? new URL(`https://${url.host}`) : url;
    if (!isDeclaredHost(route.plugin.hosts, asDeclared) || url.username !== "") {
      const hosts = [base.host, ...route.plugin.hosts].join(", ");
      throw new TypeError(`Cannot ask ${url.origin}: the plugin declares ${hosts}; add it to hosts, with https`);
    }
    if (this.#getBase(route.baseUrl).isLocal) return undefined;
    return this.#checkHost(stripBrackets(url.hostname));
  }

  /**
   * Whether a route leads to a server of the operator's own: its base URL is a private address, or a name that the operator wrote and
   * that is not known to lead to public addresses alone. Such a server could be made to ask its neighbours.
   */
  isOwnServer({ baseUrl, isBaseUrlGiven }: Pick<Route, "baseUrl" | "isBaseUrlGiven">): boolean | Promise<boolean> {
    const { host, isLocal } = this.#getBase(baseUrl);
    if (isLocal || isBaseUrlGiven !== true) return isLocal;
    if (isIP(host) > 0) return false;
    const isKnown = () => this.#verdicts.get(host)?.isPublic !== true;
    const verdict = this.#verdicts.get(host);
    if (verdict !== undefined && this.#now() - verdict.checkedAtMs < trustedMsMax) return isKnown();
    return this.#renew(host).then(isKnown);
  }

  /**
   * Whether a plugin is for servers that people run themselves: it declares a base URL with a private address, or without TLS, which no
   * public provider has. This decides which fields a request has, wherever the server is reached. {@link isOwnServer} decides by the
   * address what may be reached. A public provider behind a private proxy stays a public provider.
   */
  isForOwnServers({ baseUrl }: Pick<ProviderPlugin, "baseUrl">): boolean {
    const { isLocal, isPlain } = this.#getBase(baseUrl);
    return isLocal || isPlain;
  }

  /**
   * The addresses of a URL that passed these checks. If the connection goes to these addresses only, a name that
   * changes in between does no harm.
   *
   * @returns `undefined` if the operator configured the host, which may have any address.
   * @throws {UpstreamError} When one of them is private.
   */
  async findAddresses(route: Route, url: URL): Promise<readonly string[] | undefined> {
    const isOfBase = url.origin === new URL(route.baseUrl).origin;
    if (this.#getBase(route.baseUrl).isLocal || (isOfBase && route.isBaseUrlGiven)) return undefined;
    const host = stripBrackets(url.hostname);
    const addresses = await this.#resolve(host);
    if (!addresses.every(isPublicAddress)) throw refusal(host);
    return addresses;
  }

  /**
   * Checks the address of a token endpoint, which the plugin declares or the operator has put into the credential.
   *
   * @throws {TypeError} When it is neither.
   * @throws {UpstreamError} When the host leads to a private address and is not itself one.
   */
  checkTokenUrl(plugin: ProviderPlugin, credential: ProviderCredential, url: URL): Promise<void> | undefined {
    if (!isTokenHost(plugin, credential, url) || url.username !== "") {
      throw new TypeError(`Cannot fetch a token from ${url.origin}: the plugin does not declare it; add it to hosts`);
    }
    const host = stripBrackets(url.hostname);
    return isLocalHost(host) && !isDeclaredHost(plugin.hosts, url) ? undefined : this.#checkHost(host);
  }

  #getBase(baseUrl: string): Base {
    let base = this.#bases.get(baseUrl);
    if (base === undefined) {
      const host = stripBrackets(new URL(baseUrl).hostname);
      base = { host, isLocal: isLocalHost(host), isPlain: baseUrl.startsWith("http:") };
      this.#bases.set(baseUrl, base);
    }
    return base;
  }

  #checkHost(host: string): Promise<void> | undefined {
    if (isLocalHost(host)) throw refusal(host);
    if (isIP(host) > 0) return undefined;
    const verdict = this.#verdicts.get(host);
    const ageMs = verdict === undefined ? Number.POSITIVE_INFINITY : this.#now() - verdict.checkedAtMs;
    if (verdict?.isPublic && ageMs < trustedMsMax) {
      if (ageMs > freshMs) void this.#renew(host);
      return undefined;
    }
    if (verdict?.isPublic === false && ageMs < freshMs) throw refusal(host);
    return this.#renew(host).then(() => {
      if (this.#verdicts.get(host)?.isPublic === false) throw refusal(host);
    });
  }

  #renew(host: string): Promise<void> {
    const lookup = this.#pending.get(host);
    if (lookup !== undefined) return lookup;
    const requested = this.#ask(host).finally(() => this.#pending.delete(host));
    this.#pending.set(host, requested);
    return requested;
  }

  async #ask(host: string): Promise<void> {
    try {
      const addresses = await this.#resolve(host);
      if (addresses.length === 0) throw new Error("It has no address");
      this.#verdicts.set(host, { checkedAtMs: this.#now(), isPublic: addresses.every(isPublicAddress) });
    } catch {
      // Without an address there is nothing to reach: the request itself will say so.
      this.#verdicts.delete(host);
    }
  }
}

function refusal(host: string): UpstreamError {
  const message =
    "The provider's host resolves to a private address, so nothing was sent; the operator can use the address itself " +
    "as the base URL, or set <PLUGIN>_BASE_URL";
  return new UpstreamError("bad_response", message, { code: "private_address", cause: host });
}

function stripBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/** Whether an address is on the public internet: not loopback, private, link-local, reserved or a mapped form of these. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !blocked.check(address, "ipv4");
  if (family === 6) return global6.check(address, "ipv6") && !blocked.check(address, "ipv6");
  return false;
}

/** Whether a host is an address of this machine or of a private network, or localhost. */
export function isLocalHost(host: string): boolean {
  if (isIP(host) > 0) return !isPublicAddress(host);
  return /(^|\.)localhost\.?$/i.test(host);
}
