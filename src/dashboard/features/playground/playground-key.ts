import { mutate } from "swr";
import { ApiError } from "../../data/api.ts";
import { createKey, playgroundKeyMs, playgroundKeyName, revokeKey } from "../keys/api.ts";

/**
 * The playground calls the public API like any other client, so its calls are limited, charged and listed like all
 * others. It uses its own API key, which the first call makes, which expires after an hour, and which is held only in
 * this variable (never in browser storage). A sign-out revokes it. Nobody has the key of a page that was closed, so the
 * audit log gets no entry for that.
 */
let key: Promise<{ id: string; key: string; endsAt: number }> | undefined;

/** A key is replaced this long before it expires, because a running call must be able to finish. */
const marginMs = 300_000;

let lastCallId: string | undefined;

/** The id of the last call that was answered, to find it among the latest calls. */
export function getLastCallId(): string | undefined {
  return lastCallId;
}

/** POSTs to the API with the playground's key. @throws {ApiError} */
export async function callApi(path: string, body: BodyInit, init: RequestInit = {}): Promise<Response> {
  const { key: secret } = await playgroundKey();
  const response = await fetch(`/v1${path}`, {
    ...init,
    method: "POST",
    headers: { ...init.headers, authorization: `Bearer ${secret}` },
    body,
  });
  lastCallId = response.headers.get("x-request-id") ?? undefined;
  if (response.ok) return response;
  // The key was revoked; the next call creates another.
  if (response.status === 401) key = undefined;
  throw new ApiError(response.status, await response.json().catch(() => undefined));
}

/** {@link callApi} with a JSON body. */
export function callApiWithJson(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return callApi(path, JSON.stringify(body), { headers, ...(signal !== undefined && { signal }) });
}

/** Revokes the playground's key, if there is one. */
export async function endPlaygroundKey(): Promise<void> {
  const current = key;
  key = undefined;
  if (current !== undefined) await revokeKey(undefined, (await current).id);
}

/** Refreshes balance and calls after a call. */
export function refreshUsage(): void {
  for (const name of ["me", "calls"]) void mutate(name);
}

async function playgroundKey(): Promise<{ id: string; key: string }> {
  const current = await key?.catch(() => undefined);
  if (current !== undefined && current.endsAt - marginMs > Date.now()) return current;
  const endsAt = Date.now() + playgroundKeyMs;
  const created = createKey({ name: playgroundKeyName, expires_at: new Date(endsAt).toISOString() });
  key = created.then((fields) => ({ ...fields, endsAt }));
  return key;
}
