import type { Config } from "./config.ts";

/** Where people find the gateway: what the operator said, else where it listens as a browser on this machine sees it. */
export function publicOriginOf({ host, publicUrl }: Pick<Config, "host" | "publicUrl">, port: number): string {
  if (publicUrl !== undefined) return publicUrl;
  const bracketed = host.includes(":") ? `[${host}]` : host;
  return `http://${bracketed === "0.0.0.0" || bracketed === "[::]" ? "127.0.0.1" : bracketed}:${port}`;
}
