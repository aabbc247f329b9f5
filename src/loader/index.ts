export { choosePlugins } from "./choose-plugins.ts";
export type { DropFolder } from "./drop-folder.ts";
export { findSources } from "./find-sources.ts";
export { type LoadCode, loadSource } from "./load-source.ts";
export type { PluginStanding, PluginState } from "./plugin-state.ts";
export { readStateFile, removeStateFile, writeStateFile } from "./state-file.ts";
export { type Shelf, Stock } from "./stock.ts";
export { watchFolders } from "./watch-folders.ts";
