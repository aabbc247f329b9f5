/** What somebody may do in a team: an `admin` also manages its people, invitations, alerts and the keys of others. */
export type TeamRole = "admin" | "member";

/** People of an account besides its holder, who is always an admin of it. */
export interface MembershipsTable {
  account_id: string;
  user_id: string;
  role: TeamRole;
  joined_at: number;
}

/** Links with which one person joins the team of an account. */
export interface TeamInvitationsTable {
  /** Public, for lists. */
  id: string;
  /** SHA-256 of the token in the link, hex. */
  token_hash: string;
  account_id: string;
  role: TeamRole;
  /** Lower case; only the person with this address may take it. Null: anyone with the link. */
  email: string | null;
  /** The account of the person who made it, or `cli`. */
  created_by: string;
  created_at: number;
  expires_at: number;
  /** The user who took it; null: nobody has. */
  used_by: string | null;
}

/** Links for setting an account's password once. */
export interface InvitationsTable {
  /** SHA-256 of the token in the link, hex. */
  token_hash: string;
  account_id: string;
  /** The account of the administrator who made it, or `cli`; it is good while they may make it. */
  created_by: string | null;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}

/** Links by which people prove that they read the mail of the e-mail with which they signed up; one for each user. */
export interface EmailVerificationsTable {
  user_id: string;
  /** SHA-256 of the token in the link, hex. */
  token_hash: string;
  /** The e-mail to which it was sent: it proves no other. */
  email: string;
  expires_at: number;
}
