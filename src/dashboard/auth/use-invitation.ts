import { useEffect, useState } from "react";

/**
 * The token of a link such as `/#invitation=…`: behind the hash, so that it is in no log of a server. It is taken out of
 * the address at once; a link that is followed while the page is open counts as well.
 */
export function useInvitation(): [token: string | undefined, leave: () => void] {
  const [token, setToken] = useState(takeToken);
  useEffect(() => {
    const onHash = () => setToken((known) => takeToken() ?? known);
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  return [token, () => setToken(undefined)];
}

function takeToken(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get("invitation") ?? undefined;
  if (token !== undefined) history.replaceState(null, "", location.pathname);
  return token;
}
