export {
  type Config,
  ConfigError,
  type ConfigRow,
  checkConnections,
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
export {
  accepted,
  anyText,
  choice,
  defineSettings,
  integer,
  matching,
  optional,
  type SettingGroup,
  secret,
  setting,
  type ValuesOf,
} from "./setting.ts";
export { getLocalOrigin, getPublicOrigin, networks, toListenError } from "./urls.ts";
