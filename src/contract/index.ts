export { accountLabel, toRealEmail, toTeamAddress } from "./account-label.ts";
export * from "./api-key.ts";
export * from "./billing.ts";
export * from "./cache-miss.ts";
export {
  type CacheMarks,
  type CallDetail,
  type FailedAttempt,
  type PolicyDetail,
  policyResults,
} from "./call-detail.ts";
export { callIdPrefix, makeCallId, randomText } from "./call-id.ts";
export * from "./capability.ts";
export { type ContextFigures, isContextLength } from "./context-length.ts";
export * from "./encryption.ts";
export * from "./error.ts";
export * from "./issuer-url.ts";
export * from "./meters.ts";
export * from "./name.ts";
export * from "./networks.ts";
export * from "./oauth-token.ts";
export * from "./optional.ts";
export * from "./postgres-url.ts";
export * from "./price.ts";
export * from "./text.ts";
