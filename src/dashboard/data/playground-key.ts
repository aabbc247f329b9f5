import { mutate } from "swr";
import { Refusal } from "./api.ts";
import { createKey, revokeKey } from "./keys.ts";

/**
 * The playground calls the public API as any program does, so that its calls are bounded, charged and listed like all
 * others. For that the page makes a key of its own: good for an hour, held in this variable alone (never in the
 * browser's storage), and revoked when the page is left or the person signs out.
 */
let key: Promise<{ id: string; key: string; endsAt: number }> | undefined;

const livesMs = 3_600_000;
/** A call that begins now may still need it for as long as this. */
const spareMs = 300_000;

/** POSTs to the API with the playground's key. @throws {Refusal} When the API refuses. */
export async function callApi(path: string, body: BodyInit, init: RequestInit = {}): Promise<Response> {
  const { key: secret } = await playgroundKey();
  const response = await fetch(`/v1${path}`, {
    ...init,
    method: "POST",
    headers: { ...init.headers, authorization: `Bearer ${secret}` },
    body,
  });
  if (response.ok) return response;
  // Revoked elsewhere: the next call gets another.
  if (response.status === 401) key = undefined;
  throw new Refusal(response.status, await response.json().catch(() => undefined));
}

/** As {@link callApi}, of JSON. */
export function callWithJson(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return callApi(path, JSON.stringify(body), { headers, ...(signal !== undefined && { signal }) });
}

/** Ends the playground's key, where there is one. */
export async function endPlaygroundKey(): Promise<void> {
  const known = key;
  key = undefined;
  if (known !== undefined) await revokeKey((await known).id);
}

/** After a call: what it cost is shown on the other pages at once. */
export function showCharge(): void {
  for (const name of ["me", "calls"]) void mutate(name);
}

async function playgroundKey(): Promise<{ id: string; key: string }> {
  const known = await key?.catch(() => undefined);
  if (known !== undefined && known.endsAt - spareMs > Date.now()) return known;
  const endsAt = Date.now() + livesMs;
  const made = createKey({ name: "Playground", expires_at: new Date(endsAt).toISOString() });
  key = made.then((fields) => ({ ...fields, endsAt }));
  return key;
}

// `keepalive` lets the request outlive the page.
addEventListener("pagehide", () => {
  const known = key;
  key = undefined;
  void known?.then(({ id }) =>
    fetch(`/dashboard/api/keys/${encodeURIComponent(id)}`, { method: "DELETE", keepalive: true }),
  );
});
