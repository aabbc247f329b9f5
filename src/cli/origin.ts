import type { Config } from "../config.ts";

/** Where a browser on this machine finds the gateway. */
export function originOf({ host }: Pick<Config, "host">, port: number): string {
  const bracketed = host.includes(":") ? `[${host}]` : host;
  return `http://${bracketed === "0.0.0.0" || bracketed === "[::]" ? "127.0.0.1" : bracketed}:${port}`;
}
