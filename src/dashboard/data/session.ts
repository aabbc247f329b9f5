import useSWR from "swr";
import { api, fetchJson, request } from "./api.ts";
import { getMe } from "./calls.ts";

/** Keeps the promise that a call shows up within 5 seconds. SWR pauses while the tab is hidden. */
export const refreshMs = 4000;

export type Me = Awaited<ReturnType<typeof getMe>>;

export function useMe(isSignedIn = true) {
  return useSWR(isSignedIn ? "me" : null, getMe, { refreshInterval: refreshMs, keepPreviousData: true });
}

/** Name of the event that announces the end of a session. Work that must not outlive the session listens for it. */
export const signedOut = "modelgate-signed-out";

/** Items of `sessionStorage` with this prefix belong to the session and are removed at its end. */
export const sessionItemPrefix = "modelgate-chat-";

/** Ends the running work of this session, and removes what the tab has stored of it. */
function forgetSession(): void {
  dispatchEvent(new Event(signedOut));
  try {
    for (const name of Object.keys(sessionStorage))
      if (name.startsWith(sessionItemPrefix)) sessionStorage.removeItem(name);
  } catch {
    // Storage is blocked, so nothing was kept there.
  }
}

/**
 * Reloads the page after a sign-in or sign-out, because nothing that the page has loaded belongs to the new session.
 * Never resolves, which keeps forms busy until the reload.
 */
export function reloadSession(): Promise<never> {
  forgetSession();
  location.reload();
  return new Promise(() => undefined);
}

/** Upper bound on how long the page waits for this before it renders. */
const extendMsMax = 3000;

/**
 * Extends the session, and returns whether there is one; undefined if that is unknown. Errors are ignored: the next
 * request reports them.
 */
export function extendSession(): Promise<boolean | undefined> {
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, extendMsMax));
  const extended = fetchJson<object | null>("/api/auth/get-session").then(
    (session) => session !== null,
    () => undefined,
  );
  return Promise.race([extended, late]);
}

/** Returns `code` if a second factor is required. */
export async function signIn(email: string, password: string): Promise<"in" | "code"> {
  const answer = await fetchJson<{ twoFactorRedirect?: boolean }>("/api/auth/sign-in/email", { email, password });
  return answer.twoFactorRedirect === true ? "code" : "in";
}

/** Verifies a code of the authenticator app, or a backup code. */
export async function verifyCode(code: string, isBackupCode: boolean): Promise<void> {
  await fetchJson(`/api/auth/two-factor/${isBackupCode ? "verify-backup-code" : "verify-totp"}`, { code: code.trim() });
}

export async function signInWithSso(): Promise<void> {
  const { url } = await fetchJson<{ url: string }>("/api/auth/sign-in/oauth2", {});
  // The previous session may have expired without a sign-out.
  forgetSession();
  location.assign(url);
}

/** Returns the TOTP URI and backup codes. The second factor is on once the first code was verified. */
export function enableSecondFactor(password: string): Promise<{ totpURI: string; backupCodes: string[] }> {
  return fetchJson("/api/auth/two-factor/enable", { password });
}

export async function disableSecondFactor(password: string): Promise<void> {
  await fetchJson("/api/auth/two-factor/disable", { password });
}

/** The answer does not tell whether the e-mail had an account already; signing in does, with a wrong password. */
export async function signUp(fields: {
  name: string;
  email: string;
  password: string;
  /** The token of an invitation to a team. */
  invitation?: string;
}): Promise<void> {
  await fetchJson("/api/auth/sign-up/email", fields);
}

/** Emails the user a link to verify their address. @throws {Error} Why it could not be sent. */
export async function sendEmailVerification(): Promise<void> {
  const { mail_error } = await request(api.email.verification.post());
  if (mail_error !== null) throw new Error(mail_error);
}

/** Verifies the e-mail of the user by the token of a link. */
export async function verifyEmail(token: string): Promise<{ email: string }> {
  return request(api.email.verify.post({ token }));
}

/** Ends all sessions of the user, including this one. */
export async function signOutEverywhere(): Promise<void> {
  await fetchJson("/api/auth/revoke-sessions", {});
}

export async function changePassword(currentPassword: string, newPassword: string): Promise<void> {
  await fetchJson("/api/auth/change-password", { currentPassword, newPassword });
}
