export type { DropFolder } from "./plugin-directory.ts";
export { type Shelf, Stock } from "./plugin-manager.ts";
export type { PluginStanding, PluginState } from "./plugin-state.ts";
export { readStateFile, removeStateFile, writeStateFile } from "./state-file.ts";
export { watchFolders } from "./watch-folders.ts";
