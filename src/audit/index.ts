export {
  type Administrator,
  actorPrefix,
  adminKeyOf,
  commandLine,
  identityProvider,
  isProgram,
  toAdminKeyActor,
  tokenIssuer,
} from "./administrator.ts";
export { type Audited, createAudited } from "./audited.ts";
export { type AuditCursor, type AuditFilter, type AuditRow, readAudit, readAuditEntry } from "./read-audit.ts";
export { type AuditEntry, recordAudit } from "./record-audit.ts";
