export { explainUnserved } from "./absent-models.ts";
export { getTerms, setRow, setTerms } from "./catalogue-files.ts";
export { checkManifest, sendsKeyInClear } from "./check-manifest.ts";
export { countSimulated, isOfSandbox } from "./choose-plugins.ts";
export {
  describeProviders,
  type ProviderDescription,
  type ProviderHealth,
  readHealth,
  toErrorJson,
  toTestJson,
} from "./describe-providers.ts";
export { type AttemptCount, healthStates } from "./health.ts";
export { createBillLookup, getModelNames, ModelNames } from "./model-names.ts";
export { OperatorCatalogueEditor } from "./operator-catalogue.ts";
export type { PluginDirectory } from "./plugin-directory.ts";
export type { PlannedProviders, PluginManagerOptions, PluginSnapshot } from "./plugin-manager.ts";
export type { PluginState, PluginStatus } from "./plugin-state.ts";
export { ProviderSettings, providerFields, toProviderJson } from "./provider-settings.ts";
export { Providers } from "./providers.ts";
export { parseFile } from "./read-files.ts";
export {
  changeReroute,
  checkReroute,
  createReroute,
  describeEffect,
  listReroutes,
  type NewReroute,
  type RerouteEffect,
  readReroute,
  removeReroute,
  rerouteFields,
  type Served,
  type StoredReroute,
} from "./reroutes.ts";
export { hasSecrets, SecretBox, type StoredSmtp, sealSecret, smtpSetting } from "./secret-box.ts";
export { readStateFile, removeStateFile, writeStateFile } from "./state-file.ts";
export { describeUpstreamError } from "./test-connection.ts";
