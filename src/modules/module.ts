import type { Command } from "../cli/command.ts";
import type { Config, SettingGroup } from "../config/index.ts";
import type { Store } from "../db/index.ts";
import type { HttpModule } from "../http/module.ts";
import type { AnyResource } from "../http/resources/resource.ts";
import type { CallObserver, ClientCall, Kernel, Log } from "../kernel/index.ts";
import type { LogSink, ScrapedMetric } from "../observability/index.ts";
import type { ProviderHealth, SecretBox } from "../providers/index.ts";

/**
 * A feature that can be deleted: its folder has its settings, routes, pages and texts, and the gateway knows it by its line in
 * `list.ts` (and `pages.ts`, if it has pages).
 */
export interface Module {
  readonly name: string;
  readonly settings?: SettingGroup;
  /** Managed things: their routes and their commands are made from them. */
  readonly resources?: readonly AnyResource[];
  /** Commands of `modelgate`; each is listed after the commands of its group. */
  readonly commands?: readonly Command[];
  /** Builds it when the gateway starts. */
  open(parts: ModuleParts): Promise<OpenModule>;
}

/** The parts of the gateway that modules are built from. */
export interface ModuleParts {
  readonly config: Config;
  readonly store: Store;
  readonly log: Log;
  readonly now: () => number;
  readonly version: string;
  /** The name of this process for its operator. */
  readonly nodeName: string;
  /** Verifies the ledger apart from this process; absent: nothing does so by itself. */
  readonly verifyLedger?: VerifyLedger | undefined;
  /** Has the lines of the log sent on. */
  sendLog(sink: LogSink): void;
  /** Everybody who gets content that is kept. */
  readonly contentSinks: () => readonly ContentSink[];
}

/** Returns the differences that a verification of the ledger finds, one message each. */
export type VerifyLedger = () => Promise<readonly string[]>;

/** The gateway once all of it is built, for modules that watch it. */
export interface Gateway {
  readonly kernel: Pick<Kernel, "registry" | "now">;
  /** Encrypts secrets for the database. */
  readonly secrets: SecretBox;
  /** The health of the providers. */
  health(): readonly ProviderHealth[];
  /** Why no call can be recorded; absent while calls can be. */
  trouble(): string | undefined;
  /** Whether the process is shutting down and therefore refuses calls. */
  isDraining(): boolean;
  /** Has the sums of calls include the latest ones. */
  freshen(): Promise<void>;
}

/** A module of a gateway that runs. */
export interface OpenModule extends Omit<HttpModule, "resources"> {
  /** Learns of attempts, calls and refusals. */
  readonly observer?: CallObserver;
  /** Counters for Prometheus. */
  readonly counters?: readonly ScrapedMetric[];
  readonly contentSink?: ContentSink;
  /** Starts its own work. Returns a function that ends it, before anything of the gateway closes. */
  start?(gateway: Gateway): () => void;
  /** Writes what is still to be written. */
  flush?(): Promise<void>;
  close?(): Promise<void>;
}

/** Gets prompts and answers that are kept, to send them on. */
export interface ContentSink {
  /** Reads the data that it needs of an ended call; the returned function receives the redacted text. */
  prepare(call: ClientCall): (content: KeptContent) => void;
}

interface KeptContent {
  readonly request: readonly KeptTurn[];
  readonly answer: readonly KeptTurn[];
}

interface KeptTurn {
  readonly role: string;
  readonly text: string;
}

/** An open module with what it declares. */
export type OpenedModule = OpenModule & Pick<Module, "resources">;

/** Opens modules for a gateway. */
export async function openModules(
  modules: readonly Module[],
  common: Omit<ModuleParts, "contentSinks">,
): Promise<OpenedModule[]> {
  let opened: readonly OpenedModule[] = [];
  const contentSinks = () => opened.flatMap(({ contentSink = [] }) => contentSink);
  const parts = { ...common, contentSinks };
  opened = await Promise.all(modules.map(async ({ resources = [], open }) => ({ ...(await open(parts)), resources })));
  return [...opened];
}
