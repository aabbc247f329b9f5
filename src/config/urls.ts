import { isNetwork } from "../contract/index.ts";
import type { Parser } from "./setting.ts";

/** A host name or an IP address without brackets. */
export const hostPattern = /^[A-Za-z0-9._:-]{1,253}$/;

/** The origin of a server as a browser on this machine reaches it. */
export function getLocalOrigin(host: string, port: number): string {
  const bracketed = host.includes(":") ? `[${host}]` : host;
  return `http://${bracketed === "0.0.0.0" || bracketed === "[::]" ? "127.0.0.1" : bracketed}:${port}`;
}

/** The origin under which users reach the gateway: PUBLIC_URL, else the address it listens on. */
export function getPublicOrigin(config: { host: string; publicUrl: string | undefined }, port: number): string {
  return config.publicUrl ?? getLocalOrigin(config.host, port);
}

/** Turns an error of listening into a message with the remedy. */
export function toListenError(error: unknown, host: string, port: number, variable = "PORT"): Error {
  const { code = "", message } = error as NodeJS.ErrnoException;
  const hostVariable = variable.replace(/PORT$/, "HOST");
  const noAddress = `this machine has no such address; set ${hostVariable} to one that it has, such as 127.0.0.1`;
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `the port is in use; set ${variable} to another`,
    EACCES: `its user has no permission for this port; set ${variable} to one above 1023`,
    EADDRNOTAVAIL: noAddress,
    // The error of a name that cannot be resolved.
    EINVAL: noAddress,
    ENOTFOUND: noAddress,
  };
  return new Error(`Cannot listen on ${host}:${port}: ${reasons[code] ?? message}`, { cause: error });
}

/** Reads comma-separated origins; desktop programs have schemes of their own, such as `app://obsidian.md`. */
export function parseOrigins(text: string): string[] | undefined {
  const parts = text.split(",").map((part) => part.trim());
  const origins = parts.map((part) => {
    const hasOwnScheme = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/.test(part);
    return part === "*" || hasOwnScheme ? part : parseOrigin(part);
  });
  return origins.length <= 100 && origins.every((origin) => origin !== undefined) ? origins : undefined;
}

/** The origin of an http or https URL without path, query or fragment. */
export function parseOrigin(text: string): string | undefined {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/` ? url.origin : undefined;
}

export const networks: Parser<string[]> = {
  expected: "comma-separated addresses or CIDR ranges such as 10.0.0.0/8",
  parse(text) {
    const list = text.split(",").map((network) => network.trim());
    return list.every(isNetwork) ? list : undefined;
  },
};

/** Whether a text is one Redis URL, or the URLs of a cluster's nodes; a cluster has no numbered databases. */
export function areRedisUrls(text: string): boolean {
  const urls = text.split(",").map((url) => url.trim());
  return urls.every(isRedisUrl) && (urls.length === 1 || urls.every((url) => /^\/?0?$/.test(new URL(url).pathname)));
}

function isRedisUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.hostname === "") return false;
  return /^rediss?:$/.test(url.protocol) && /^(\/\d{0,4})?$/.test(url.pathname) && url.search + url.hash === "";
}

/** A mail server: `smtp:` begins TLS when it can, `smtps:` is TLS from the start. */
export function isSmtpUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.hostname === "" || !/^smtps?:$/.test(url.protocol)) return false;
  return /^\/?$/.test(url.pathname) && url.search + url.hash === "";
}
