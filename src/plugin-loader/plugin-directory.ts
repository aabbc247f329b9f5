/** A folder that files are dropped into while the gateway runs. */
export interface PluginDirectory {
  /** Absolute. */
  readonly path: string;
  /** What sentences call it: `plugins`. Never the whole path, which is nobody's but the operator's. */
  readonly label: string;
  /** Whether it is a fault when the folder is not there. */
  readonly required: boolean;
}

/** Why something in a folder is not taken in. */
export interface DropFault {
  readonly label: string;
  /** A whole sentence with file, place and cure. */
  readonly sentence: string;
}

/** What makes one plugin. */
export interface PluginSource {
  /** The plugin's name as the file or folder says it. */
  readonly name: string;
  /** What sentences call it: `plugins/acme.ts`, `plugins/acme/index.ts`. */
  readonly label: string;
  /** The file to load, absolute. */
  readonly entry: string;
  readonly kind: "manifest" | "code";
  /** The folder whose files it may import; absent when it is a single file. */
  readonly root: string | undefined;
  /** Differs whenever one of its files does. */
  readonly stamp: string;
}
