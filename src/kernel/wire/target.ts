import { isIP } from "node:net";

/** Where requests of one base URL go. */
export interface Target {
  /** Scheme, host and port: what connections are shared by. */
  readonly origin: string;
  readonly isSecure: boolean;
  /** Name or address to connect to. */
  readonly host: string;
  readonly port: number;
  /** The name that the certificate must have; `undefined` for an address. */
  readonly serverName: string | undefined;
  /** As the `host` header has it. */
  readonly hostHeader: string;
  /** What stands before every path, without a slash at its end. */
  readonly pathPrefix: string;
}

/** @throws {TypeError} When the base URL is not http or https. */
export function readTarget(baseUrl: string): Target {
  const url = new URL(baseUrl);
  const isSecure = url.protocol === "https:";
  if (!isSecure && url.protocol !== "http:") {
    throw new TypeError(`Cannot ask '${url.protocol}//${url.host}': expected an http or https URL`);
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return {
    origin: url.origin,
    isSecure,
    host,
    port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
    serverName: isIP(host) > 0 ? undefined : host,
    hostHeader: url.host,
    pathPrefix: url.pathname.replace(/\/+$/, ""),
  };
}

/** Nothing in it that a URL would be written otherwise for. */
const plainPath = /^(?!.*\/\.)[\w\-.~/:?=&%+,;@!$()*]*$/;

/** The path of a request line as `fetch` would write it: without a fragment, dot segments, spaces or line breaks. */
export function requestPath(target: Target, path: string): string {
  const whole = target.pathPrefix + path;
  if (plainPath.test(whole)) return whole;
  const url = new URL(`http://host${whole}`);
  return url.pathname + url.search;
}
