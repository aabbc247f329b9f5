import { createHash, timingSafeEqual } from "node:crypto";

/** Says whether the header `Authorization` of a scrape carries the token; without one everybody may read. */
export function createBearerAuth(token: string | undefined): (authorization: string | null) => boolean {
  if (token === undefined) return () => true;
  const wanted = hash(`bearer ${token}`);
  return (authorization) => {
    if (authorization === null || authorization.length > 512) return false;
    const given = `${authorization.slice(0, 7).toLowerCase()}${authorization.slice(7).trim()}`;
    return timingSafeEqual(hash(given), wanted);
  };
}

/** Of equal length for every token, so that the comparison takes as long for each. */
function hash(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
