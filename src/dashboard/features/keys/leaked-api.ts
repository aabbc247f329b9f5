import useSWR from "swr";
import { api, organization, request } from "../../data/api.ts";
import { findCredentials, type HashedCredential, hashCredentials } from "../../data/find-credentials.ts";
import { refreshKeys } from "./api.ts";

/** Administrators look up credentials of the whole gateway, account holders their account's. */
export type LeakScope = "gateway" | "account";

const lookUpOwn = (credentials: HashedCredential[]) => request(api.credentials.lookup.post({ credentials }));

/** The answer about one credential. */
export type Credential = Awaited<ReturnType<typeof lookUpOwn>>["data"][number];
export type Caller = Credential["callers"][number];

/** Answers about a pasted text. */
export interface LookUp {
  readonly credentials: readonly Credential[];
  /** Credentials in the text that cannot be looked up, since the page computes no hash. */
  readonly skipped: number;
  /** Whether a mail server is set up, so holders can be written to. */
  readonly canMail: boolean;
}

/** Whether the browser computes hashes: it does not on a page without TLS. */
export const canHash = globalThis.crypto?.subtle !== undefined;

/** Finds credentials in a text and looks them up. Of a secret nothing but its hash leaves the page. */
export async function lookUp(text: string, scope: LeakScope): Promise<LookUp> {
  const pasted = findCredentials(text);
  const credentials = [...(await hashCredentials(pasted))];
  const skipped = canHash ? 0 : pasted.filter(({ id }) => id === undefined).length;
  if (credentials.length === 0) return { credentials: [], skipped, canMail: false };
  if (scope === "account") {
    const { data, can_mail: canMail } = await lookUpOwn(credentials);
    return { credentials: data, skipped, canMail };
  }
  const { data, can_mail: canMail } = await lookUpAll(credentials);
  return { credentials: data.map(toIsoTimes), skipped, canMail };
}

type InSeconds = Awaited<ReturnType<typeof lookUpAll>>["data"][number];
const lookUpAll = (credentials: HashedCredential[]) => request(organization.credentials.lookup.post({ credentials }));

function toIsoTimes(credential: InSeconds): Credential {
  return {
    ...credential,
    usable_until: toIso(credential.usable_until),
    replaced_at: toIso(credential.replaced_at),
    created_at: toIso(credential.created_at),
    expires_at: toIso(credential.expires_at),
    revoked_at: toIso(credential.revoked_at),
    last_used_at: toIso(credential.last_used_at),
    callers: credential.callers.map(toIsoCaller),
  };
}

function toIsoCaller(caller: InSeconds["callers"][number]): Caller {
  return {
    ...caller,
    first_seen_at: new Date(caller.first_seen_at * 1000).toISOString(),
    last_seen_at: new Date(caller.last_seen_at * 1000).toISOString(),
  };
}

function toIso(seconds: number | null): string | null {
  return seconds === null ? null : new Date(seconds * 1000).toISOString();
}

/** How a leaked credential ends. */
export interface Ending {
  readonly action: "revoke" | "rotate";
  readonly grace_seconds?: number;
  readonly notify_holder: boolean;
}

/** Ends a credential and writes to its holder. */
export async function endCredential({ type, id }: Credential, scope: LeakScope, ending: Ending) {
  const body = { type, id: id ?? "", ...ending };
  const ended = await (scope === "gateway"
    ? request(organization.credentials.revoke.post(body))
    : request(api.credentials.revoke.post(body)));
  await refreshKeys();
  return ended;
}

/**
 * The networks and programs that use a key.
 *
 * @param account As in `createKey`.
 */
export function useCallers(account: string | undefined, id: string) {
  return useSWR(["callers", account ?? "", id], async (): Promise<readonly Caller[]> => {
    if (account === undefined) return (await request(api.keys({ id }).callers.get())).data;
    const keys = organization.projects({ project_id: account }).api_keys;
    return (await request(keys({ key_id: id }).callers.get())).data.map(toIsoCaller);
  });
}
