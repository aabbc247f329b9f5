import type { Generated } from "kysely";

/** What a person who is signed in may do: `admin` everything, `member` what concerns the own account. */
export type Role = "admin" | "member";

/** People who sign in, one an account. */
export interface UsersTable {
  id: string;
  account_id: string;
  /** What is typed at sign-in, lower case, unique. */
  email: string;
  name: string;
  role: Role;
  /** 1: somebody else knows the password, so it is to be changed. */
  password_is_temporary: number;
  /** 1: a code is asked for after the password. */
  two_factor_enabled: Generated<number>;
  email_verified: number;
  image: string | null;
  /** ISO text, as every time that better-auth writes. */
  created_at: string;
  updated_at: string;
}

/** How a person proves to be that person: a password, or an account at a provider of identities. */
export interface CredentialsTable {
  id: string;
  user_id: string;
  /** `credential` for a password. */
  provider_id: string;
  provider_account_id: string;
  password_hash: string | null;
  access_token: string | null;
  refresh_token: string | null;
  id_token: string | null;
  access_token_expires_at: string | null;
  refresh_token_expires_at: string | null;
  scope: string | null;
  created_at: string;
  updated_at: string;
}
