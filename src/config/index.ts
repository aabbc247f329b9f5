export {
  type Config,
  ConfigError,
  type ConfigRow,
  describeConfig,
  getFieldVariable,
  getOidcOptions,
  getVariablePrefix,
  listVariables,
  nameKeyVariables,
  readConfig,
} from "./config.ts";
export {
  getCatalogueFolder,
  getDatabaseFile,
  getPluginFolders,
  getPluginStateFile,
  getSecretsKeyFile,
  getSpoolFolder,
  getStoreOptions,
  makeHome,
} from "./paths.ts";
export { defineSettings, matching, type SettingGroup, secret } from "./setting.ts";
export { getLocalOrigin, getPublicOrigin, toListenError } from "./urls.ts";
