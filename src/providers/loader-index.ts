export { readManifest } from "./manifest.ts";
export { OperatorCatalogueEditor } from "./operator-catalogue.ts";
export type { PluginDirectory } from "./plugin-directory.ts";
export { PluginManager, type PluginManagerOptions, type PluginSnapshot } from "./plugin-manager.ts";
export type { PluginState, PluginStatus } from "./plugin-state.ts";
export { parseJson } from "./read-files.ts";
export { readStateFile, removeStateFile, writeStateFile } from "./state-file.ts";
export { watchFolders } from "./watch-folders.ts";
