import { fetchJson } from "../../data/api.ts";
import { endPlaygroundKey } from "../playground/playground-key.ts";

export async function signOut(): Promise<void> {
  // The key expires within an hour anyway; a failure must not prevent the sign-out.
  await endPlaygroundKey().catch(() => undefined);
  // `keepalive`: the tab may be closed right away.
  await fetchJson("/api/auth/sign-out", {}, { keepalive: true });
}
