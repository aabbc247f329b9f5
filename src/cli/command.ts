import type { Config } from "../config/index.ts";
import type { Model, ProviderPlugin } from "../contract/index.ts";

/** What the command line stands on; all of it given, so that a test can hand in its own. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  stdout(text: string): void;
  stderr(text: string): void;
  /** Resolves when standard output takes more, for commands that say a lot; absent: it always does. */
  drained?(): Promise<void>;
  /** The built-in plugins with their models. */
  readonly plugins: readonly ProviderPlugin[];
  /** Manifests of servers and hosts that many use, by name, as text; absent: none. */
  readonly manifests?: Readonly<Record<string, unknown>>;
  /** Makes the plugin that simulates these models. */
  sandboxOf(models: readonly Model[]): ProviderPlugin;
  /** Starts the gateway; resolves when it has stopped. */
  serve(config: Config): Promise<void>;
  readonly version: { readonly version: string; readonly commit?: string };
  /** Milliseconds since 1970; absent: the machine's clock. */
  now?(): number;
}

/** A flag that takes a value, `--email E`, or is one by itself: `--translated`. */
export interface Flag {
  /** The placeholder in help: `E`; empty when it takes none, and what is read is then `"yes"`. */
  readonly value: string;
  readonly about: string;
  readonly required?: true;
}

export type Flags = Readonly<Record<string, Flag>>;

/** What was written after the command's name. */
export interface Input<F extends Flags, A extends string> {
  readonly flags: {
    readonly [Name in keyof F]: F[Name] extends { required: true } ? string : string | undefined;
  };
  readonly args: { readonly [Name in A]: string };
  /** Whether one JSON value is wanted, for a command that says all on the way. */
  readonly json: boolean;
  readonly config: Config;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What a command has to say: for programs (`--json`) and for people. */
export interface CommandResult {
  readonly json: unknown;
  readonly text: string;
  /** 0 when absent. */
  readonly exitCode?: number;
}

export interface Command<F extends Flags = Flags, A extends string = string> {
  /** Its words: `account create`. */
  readonly name: string;
  readonly about: string;
  readonly flags: F;
  /** Arguments without a flag, all required. */
  readonly args: readonly A[];
  /** A line that works when pasted, after the program's name. */
  readonly example: string;
  /** Resolves without an answer when all was said on the way. */
  run(ground: CliContext, input: Input<F, A>): Promise<CommandResult | undefined>;
}

/** Keeps the types of a command's own flags and arguments for its `run`, and forgets them for the table. */
export function defineCommand<const F extends Flags, const A extends string>(command: Command<F, A>): Command {
  return command as unknown as Command;
}

/** What the user wrote cannot be done as written; the sentence says why and what would be right. Nothing was changed. */
export class UsageError extends Error {
  override readonly name = "Mistake";
}
