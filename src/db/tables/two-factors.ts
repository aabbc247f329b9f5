/** What proves the second step of a person's sign-in, encrypted by better-auth. */
export interface TwoFactorsTable {
  id: string;
  user_id: string;
  secret: string;
  backup_codes: string;
  /** 1: a first code was right. */
  verified: number;
}
