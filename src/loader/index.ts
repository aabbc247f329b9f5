export type { DropFolder } from "./drop-folder.ts";
export type { PluginStanding, PluginState } from "./plugin-state.ts";
export { readStateFile, removeStateFile, writeStateFile } from "./state-file.ts";
export { type Shelf, Stock } from "./stock.ts";
export { watchFolders } from "./watch-folders.ts";
