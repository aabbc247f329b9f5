import { LRUCache } from "lru-cache";
import type { StoredSession } from "./better-auth.ts";

const keptMs = 60_000;
const keptMax = 2000;
/** Longer cookies are not kept, which bounds the memory. */
const cookiesLengthMax = 2000;

/**
 * Caches for a minute which session a cookie belongs to: an open page sends requests every few seconds, and verifying
 * the signature is most of the cost of such a request. Whether the session still exists, and the rights of its user,
 * are not cached.
 */
export function cacheSessions(
  readSession: (cookies: string) => Promise<StoredSession | undefined>,
  now: () => number,
): (cookies: string) => Promise<StoredSession | undefined> {
  const cache = new LRUCache<string, StoredSession>({ max: keptMax, ttl: keptMs });
  return async (cookies) => {
    const cachedSession = cache.get(cookies);
    if (cachedSession !== undefined && cachedSession.expiresAt > now()) return cachedSession;
    const session = await readSession(cookies);
    if (session !== undefined && cookies.length <= cookiesLengthMax) cache.set(cookies, session);
    return session;
  };
}
