import useSWR, { mutate } from "swr";
import { api, ask, told } from "./api.ts";
import { endPlaygroundKey } from "./playground-key.ts";

/** A call is seen within five seconds. How often what is on the screen is asked for again; not while the tab is hidden. */
export const refreshMs = 4000;

const getMe = () => told(api.me.get());

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

/** Extends the session by its use. Whether there is one is told by what is asked next. */
export function touchSession(): Promise<unknown> {
  return ask("/api/auth/get-session").catch(() => undefined);
}

export async function signIn(email: string, password: string): Promise<void> {
  await ask("/api/auth/sign-in/email", { email, password });
}

export async function signUp(fields: { name: string; email: string; password: string }): Promise<void> {
  await ask("/api/auth/sign-up/email", fields);
}

export async function signOut(): Promise<void> {
  // It ends by itself within the hour; a failure here is no reason to stay signed in.
  await endPlaygroundKey().catch(() => undefined);
  await ask("/api/auth/sign-out", {});
}

/** Ends every session of this person, this one too. */
export async function signOutEverywhere(): Promise<void> {
  await ask("/api/auth/revoke-sessions", {});
}

export async function changePassword(currentPassword: string, newPassword: string): Promise<void> {
  await ask("/api/auth/change-password", { currentPassword, newPassword, revokeOtherSessions: true });
}
