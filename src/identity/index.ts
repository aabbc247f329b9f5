export { acceptInvitation } from "./accept-invitation.ts";
export { takeAttempt } from "./attempt-limit.ts";
export {
  credentialTypes,
  findHolders,
  findLeaked,
  type Leaked,
  type LeakedCredential,
} from "./leaked-credential.ts";
export { accessTokenSource } from "./oauth/access-tokens.ts";
export { type OauthTokens, refreshGrant, revokeGrant } from "./oauth/grants.ts";
export { readProgram, titleOf } from "./oauth/programs.ts";
export { OauthError } from "./oauth/refusal.ts";
export {
  approveCodeRequest,
  approveDeviceRequest,
  type CodeRequest,
  checkCodeRequest,
  createDeviceRequest,
  denyDeviceRequest,
  exchangeCode,
  findDeviceRequest,
  type Origin,
  pollDevice,
  pollSeconds,
} from "./oauth/requests.ts";
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
export {
  issuerFields,
  issuersMax,
  isToken,
  parseTokenIssuers,
  type TokenIssuer,
  TokenIssuers,
} from "./tokens/issuers.ts";
export { tokenSource } from "./tokens/token-authenticator.ts";
export { createEmailVerification, verifyEmail } from "./verify-email.ts";
