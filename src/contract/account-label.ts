/** A reserved name: no mail can be received there. */
const teamHost = "@teams.invalid";

/** Creates the address of a team: every account needs one that no other has. People read its name instead. */
export function toTeamAddress(name: string, accountId: string): string {
  const words = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
  return `${words.slice(0, 40) || "team"}-${accountId.slice(-6)}${teamHost}`;
}

/** The e-mail of an account; `null` for a team without one of its own. */
export function toRealEmail(address: string): string | null {
  return address.endsWith(teamHost) ? null : address;
}

/**
 * The account in one line for people: its e-mail, which no other account has, or the name of a team without an e-mail.
 *
 * @example
 * accountLabel({ email: "search-8077ba@teams.invalid", name: "Search" }); // => "Search"
 */
export function accountLabel({
  email,
  name,
}: {
  readonly email: string;
  readonly name?: string | null | undefined;
}): string {
  return toRealEmail(email) ?? name ?? "a team without a name";
}
