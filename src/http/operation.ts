/** What became of a plugin; the loader says it. */
export interface PluginReport {
  readonly name: string;
  readonly origin: string;
  readonly standing: string;
  readonly version: string | null;
  readonly contract: number | null;
  readonly models: number;
  readonly routes: number;
  readonly keys: number;
  /** Milliseconds since 1970. */
  readonly loaded_at: number | null;
  readonly error: string | null;
}

/** A setting in force; the value of a secret is not in it. */
export interface SettingReport {
  readonly name: string;
  readonly value: string;
  readonly source: string;
}

/** What an administrator sees of the gateway at work. */
export interface Operation {
  plugins(): readonly PluginReport[];
  settings(): readonly SettingReport[];
}
