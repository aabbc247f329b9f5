const reasons = new Map([
  ["access_denied", "Sign-in was declined there."],
  ["signup_disabled", "There is no account for you here yet; ask for an invitation."],
  ["unavailable", "The provider of identities does not answer; try again."],
]);

/** Why a sign-in elsewhere came to nothing, as it stands behind the hash; taken out of the address at once. */
export function handleError(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get("sign-in-error");
  if (code === null) return undefined;
  history.replaceState(null, "", location.pathname);
  return reasons.get(code) ?? `You are not signed in: the single sign-on ended with “${code.slice(0, 80)}”.`;
}
