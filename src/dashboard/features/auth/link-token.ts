import { useCallback, useEffect, useState } from "react";
import { readItem, writeItem } from "../../kit/storage.ts";

/**
 * The token of a link such as `/#invitation=…`. It is in the hash so that it never reaches a server log, and it is removed from
 * the address at once. Also works for a link that is opened while the page is open.
 *
 * @param isKept Whether the tab keeps it until it is dismissed: over a reload, and a single sign-on that leaves the page.
 */
export function useLinkToken(name: string, isKept = false): [token: string | undefined, dismiss: () => void] {
  const [token, setToken] = useState(() => takeToken(name, isKept));
  useEffect(() => {
    const onHash = () => setToken((current) => takeToken(name, isKept) ?? current);
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, [name, isKept]);
  const dismiss = useCallback(() => {
    writeItem(toKey(name), null, "sessionStorage");
    setToken(undefined);
  }, [name]);
  return [token, dismiss];
}

/** A value of the hash, which is removed from the address. */
export function takeFromHash(name: string): string | undefined {
  const value = new URLSearchParams(location.hash.slice(1)).get(name) ?? undefined;
  if (value !== undefined) history.replaceState(null, "", location.pathname);
  return value;
}

function takeToken(name: string, isKept: boolean): string | undefined {
  const token = takeFromHash(name);
  if (!isKept) return token;
  if (token === undefined) return readItem(toKey(name), "sessionStorage") ?? undefined;
  writeItem(toKey(name), token, "sessionStorage");
  return token;
}

const toKey = (name: string) => `modelgate-link-${name}`;
