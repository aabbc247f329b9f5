export {
  type Config,
  ConfigError,
  type ConfigRow,
  describeConfig,
  getFieldVariable,
  getOidcOptions,
  getVariablePrefix,
  nameKeyVariables,
  readConfig,
  variables,
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
export { getLocalOrigin, getPublicOrigin, toListenError } from "./urls.ts";
