export { acceptInvitation } from "./accept-invitation.ts";
export { takeAttempt } from "./attempt-limit.ts";
export {
  endSession,
  listSessions,
  passwordChangeRequired,
  pruneSignIn,
  type Session,
  type SessionUser,
} from "./sessions.ts";
export { makeTemporaryPassword } from "./set-password.ts";
export { createSignIn, type SignIn } from "./sign-in.ts";
export { listTeams, sessionActions, type Team } from "./switch-account.ts";
export { isToken, parseTokenIssuers, type TokenIssuer, TokenIssuers } from "./tokens/issuers.ts";
export { tokenSource } from "./tokens/token-authenticator.ts";
export { createEmailVerification, verifyEmail } from "./verify-email.ts";
