import type { Config } from "../config/index.ts";
import type { Model, ProviderPlugin } from "../provider/index.ts";

/** Dependencies of the commands; tests pass in their own. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  stdout(text: string): void;
  stderr(text: string): void;
  /** Reads standard input to its end, at most 64 kB; absent: there is no standard input. */
  stdin?(): Promise<string>;
  /** Resolves when standard output has drained, for commands with much output; absent: there is no need to wait. */
  drained?(): Promise<void>;
  /**
   * Loads the compiled-in plugins and manifests. Few commands need them, and loading takes longer than most commands
   * run.
   */
  loadBuiltIns(): Promise<BuiltIns>;
  /** Starts the gateway; resolves when it has stopped. */
  serve(config: Config): Promise<void>;
  readonly version: { readonly version: string; readonly commit?: string };
  /** Milliseconds since 1970; absent: the machine's clock. */
  now?(): number;
}

/** The plugins that are compiled in. */
export interface BuiltIns {
  readonly plugins: readonly ProviderPlugin[];
  /** Ready-made manifests of popular servers and hosts, by name. */
  readonly manifests: Readonly<Record<string, unknown>>;
  /** Creates the plugin that simulates these models. */
  createSandbox(models: readonly Model[]): ProviderPlugin;
}

/** A flag with a value, `--email E`, or without one, `--translated`. */
export interface Flag {
  /** The placeholder in the help, such as `E`; empty for a flag without a value, which is read as `"yes"`. */
  readonly value: string;
  readonly description: string;
  readonly required?: true;
  /** All values that it takes, for completion in shells; absent: any, or too many to name. */
  readonly choices?: readonly string[];
}

export type Flags = Readonly<Record<string, Flag>>;

/** Arguments after the name of the command. */
export interface Input<F extends Flags, A extends string> {
  readonly flags: {
    readonly [Name in keyof F]: F[Name] extends { required: true } ? string : string | undefined;
  };
  readonly args: { readonly [Name in A]: string };
  /** Whether `--json` was given, for a command that writes its output itself. */
  readonly json: boolean;
  readonly config: Config;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The output of a command, as JSON (`--json`) and as text. */
export interface CommandResult {
  readonly json: unknown;
  readonly text: string;
  /** 0 when absent. */
  readonly exitCode?: number;
}

export interface Command<F extends Flags = Flags, A extends string = string> {
  /** Such as `account create`. */
  readonly name: string;
  readonly description: string;
  readonly flags: F;
  /** Positional arguments, all required. */
  readonly args: readonly A[];
  /** All values of an argument, for completion in shells; absent: any, or too many to name. */
  readonly choices?: Readonly<Partial<Record<A, readonly string[]>>>;
  /** A complete example, without the name of the program. */
  readonly example: string;
  /** Resolves to `undefined` when the command has written its output itself. */
  run(context: CliContext, input: Input<F, A>): Promise<CommandResult | undefined>;
}

/** Types `run` by the command's own flags and arguments, and widens the type for the table of commands. */
export function defineCommand<const F extends Flags, const A extends string>(command: Command<F, A>): Command {
  return command as unknown as Command;
}

/** The command line is invalid; the message says why and what was expected. Nothing was changed. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** The flag or argument at fault, such as `--email`, where it is one. */
  readonly param: string | undefined;

  constructor(message: string, details: { readonly param?: string | undefined; readonly cause?: unknown } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.param = details.param;
  }
}
