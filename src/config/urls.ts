import { isLoopback } from "./loopback.ts";

/** `null` where one is none. Programs that show pages have schemes of their own, such as `app://obsidian.md`. */
export function readOrigins(text: string): string[] | null {
  const parts = text.split(",").map((part) => part.trim());
  const origins = parts.map((part) => {
    const isOwn = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/.test(part);
    return part === "*" || isOwn ? part : readOrigin(part);
  });
  return origins.every((origin) => origin !== undefined) ? origins : null;
}

/** The origin of an http or https URL that is nothing but one. */
export function readOrigin(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/` ? url.origin : undefined;
}

/** What is said over http can be changed on its way, unless it stays on the machine. */
export function isIssuer(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.search + url.hash + url.username + url.password !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname));
}

/** A cluster has no numbered databases. */
export function areRedisUrls(text: string): boolean {
  const urls = text.split(",").map((url) => url.trim());
  return urls.every(isRedisUrl) && (urls.length === 1 || urls.every((url) => /^\/?0?$/.test(new URL(url).pathname)));
}

function isRedisUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hostname === "") return false;
  return /^rediss?:$/.test(url.protocol) && /^(\/\d{0,4})?$/.test(url.pathname) && url.search + url.hash === "";
}

/** Options such as `sslmode=require` are the driver's to read. */
export function isPostgresUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^postgres(ql)?:$/.test(url.protocol) && url.hostname !== "" && url.pathname.length > 1;
}
