import type { Meters } from "../contract/index.ts";
import type { Progress } from "./call-context.ts";
import type { Kernel } from "./kernel.ts";
import type { UsageMeter } from "./normalize/usage-meter.ts";
import type { StreamSink } from "./outlet.ts";
import type { ModelEntry } from "./routing/registry.ts";

/** One admitted call at work. */
export interface Job<Request, Piece> {
  readonly kernel: Kernel;
  readonly modelEntry: ModelEntry;
  readonly request: Request;
  readonly progress: Progress;
  readonly usageMeter: UsageMeter;
  /** Where a streamed answer goes; absent when the answer is wanted whole. */
  readonly sink: StreamSink<Piece> | undefined;
}

/** What of a text has come out so far, for an estimate when no usage is reported. */
export interface Output {
  /** Its beginning: as much of it as is counted. */
  text: string;
  /** Of all of it, in characters. */
  length: number;
}

/** How one capability is checked, bounded, served and counted. */
export interface CapabilityHandler<Request, Reply, Piece> {
  /** @throws {GatewayError} `invalid_request` for what this model does not take. Nothing is held yet. */
  check(request: Request, modelEntry: ModelEntry): void | Promise<void>;
  /** The most that the request can use, for the hold. */
  worstCase(request: Request, modelEntry: ModelEntry): Meters;
  /** Tokens of what goes in, counted against the minute at once. */
  promptTokens(request: Request): number;
  /** Counts what went in and, by `output`, came out. */
  estimate(request: Request, output: Output, modelEntry: ModelEntry): Promise<Meters>;
  /** Asks the provider and answers: the whole answer, or pieces into the outlet. */
  serve(job: Job<Request, Piece>, output: Output): Promise<Reply>;
}
