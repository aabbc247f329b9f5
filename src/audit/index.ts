export {
  type Administrator,
  actorPrefix,
  adminKeyOf,
  commandLine,
  identityProvider,
  isProgram,
  operatorFile,
  toAdminKeyActor,
  tokenIssuer,
} from "./administrator.ts";
export { type AuditCursor, type AuditFilter, type AuditRow, readAudit, readAuditEntry } from "./read-audit.ts";
export {
  type AuditEntry,
  type Audited,
  createAudited,
  createQuietlyAudited,
  recordAct,
  recordAudit,
} from "./record-audit.ts";
