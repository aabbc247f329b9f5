export {
  AdminAuthenticator,
  type AdminKey,
  type ApiAdministrator,
  checkAdminSecret,
  createAdminKey,
  listAdminKeys,
  namesOfAdminKeys,
  type RevokedAdminKey,
  readAdminKey,
  revokeAdminKey,
  scopesOfRole,
} from "./admin-keys.ts";
export { equalHashes, hasChecksum, makeApiKey, readIdSecret } from "./api-key.ts";
export {
  type AccountDefaults,
  getFreeQuota,
  RefusedKeyError,
  type TokenKeys,
  type TokenSource,
} from "./authenticator.ts";
export { type Accounts, type AccountsOptions, createAccounts } from "./create-accounts.ts";
export {
  type CacheMarksSetting,
  cacheMarksSettings,
  checkKeyFields,
  expiryField,
  keyFields,
  networksMax,
  readKeyFields,
  readNewKeyFields,
  toKeyFieldsJson,
} from "./key-fields.ts";
export {
  type ApiKey,
  checkSecret,
  compareSecret,
  createTokenKey,
  type ForeignKey,
  graceSecondsDefault,
  graceSecondsMax,
  importForeignKeys,
  keyOrders,
  type LeakedSecret,
  listExpiringKeys,
  listUsableKeys,
  type NewKey,
  type OwnedKey,
  provideSignInKey,
  readKeyNames,
  type SecretState,
  searchKeys,
  tokenKeyId,
} from "./keys.ts";
export {
  createServiceAccount,
  deleteServiceAccount,
  findServiceAccounts,
  listServiceAccounts,
  readServiceAccount,
  type ServiceAccount,
} from "./service-accounts.ts";
