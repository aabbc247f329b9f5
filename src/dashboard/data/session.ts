import useSWR, { mutate } from "swr";
import { ask } from "./api.ts";
import { getMe } from "./calls.ts";
import { endPlaygroundKey } from "./playground-key.ts";

/** A call is seen within five seconds. How often what is on the screen is asked for again; not while the tab is hidden. */
export const refreshMs = 4000;

export type Me = Awaited<ReturnType<typeof getMe>>;

/** Who is signed in, with wallet and quota. */
export function useMe() {
  return useSWR("me", getMe, { refreshInterval: refreshMs, keepPreviousData: true });
}

/** Forgets all that was shown, and asks who is signed in now; the rest is asked for by what is shown then. */
export async function changeVisitor(): Promise<void> {
  await mutate((key) => key !== "gateway", undefined, { revalidate: false });
  await mutate("me");
}

/** The page does not stay empty for longer than this. */
const touchMsMax = 3000;

/** Extends the session by its use. Whether there is one is told by what is asked next, and so is a gateway that hangs. */
export function touchSession(): Promise<unknown> {
  const late = new Promise((resolve) => setTimeout(resolve, touchMsMax));
  return Promise.race([ask("/api/auth/get-session").catch(() => undefined), late]);
}

/** Whether that was all: `code` when a second step follows. */
export async function signIn(email: string, password: string): Promise<"in" | "code"> {
  const answer = await ask<{ twoFactorRedirect?: boolean }>("/api/auth/sign-in/email", { email, password });
  return answer.twoFactorRedirect === true ? "code" : "in";
}

/** The second step: a code of the authenticator, or one of those that were written down. */
export async function giveCode(code: string, isWritten: boolean): Promise<void> {
  await ask(`/api/auth/two-factor/${isWritten ? "verify-backup-code" : "verify-totp"}`, { code: code.trim() });
}

/** Leaves for the provider of identities, who sends back. */
export async function signInElsewhere(): Promise<void> {
  const { url } = await ask<{ url: string }>("/api/auth/sign-in/oauth2", {});
  location.assign(url);
}

/** What an authenticator is given, and codes for the day when it is lost. It counts once a first code was right. */
export function beginSecondFactor(password: string): Promise<{ totpURI: string; backupCodes: string[] }> {
  return ask("/api/auth/two-factor/enable", { password });
}

export async function endSecondFactor(password: string): Promise<void> {
  await ask("/api/auth/two-factor/disable", { password });
}

export async function signUp(fields: { name: string; email: string; password: string }): Promise<void> {
  await ask("/api/auth/sign-up/email", fields);
}

export async function signOut(): Promise<void> {
  // It ends by itself within the hour; a failure here is no reason to stay signed in.
  await endPlaygroundKey().catch(() => undefined);
  // Also where the tab is closed at once.
  await ask("/api/auth/sign-out", {}, { keepalive: true });
}

/** Ends every session of this person, this one too. */
export async function signOutEverywhere(): Promise<void> {
  await ask("/api/auth/revoke-sessions", {});
}

export async function changePassword(currentPassword: string, newPassword: string): Promise<void> {
  await ask("/api/auth/change-password", { currentPassword, newPassword, revokeOtherSessions: true });
}
