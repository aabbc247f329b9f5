import { join } from "node:path";
import type { Question } from "./exchange.ts";
import { coreOf, type Processes } from "./processes.ts";

/** Calls at a fixed rate, however long the answers take. */
export interface OpenLoadOrder extends Question {
  callsPerSecond: number;
  seconds: number;
  seed: number;
}

/** Times in milliseconds since the call was sent. */
export interface OpenLoadReport {
  wholeMs: number[];
  /** Until the first event of a stream; of a whole answer, until its first byte. */
  firstMs: number[];
  mistakes: string[];
}

/** @throws {Error} When one answer was not the provider's. */
export async function runOpenLoad(processes: Processes, order: OpenLoadOrder): Promise<OpenLoadReport> {
  const command = [process.execPath, join(import.meta.dir, "open-load-client.ts"), JSON.stringify(order)];
  const report: OpenLoadReport = JSON.parse(await processes.run(command, coreOf.load));
  if (report.mistakes.length > 0) throw new Error(`a wrong answer: ${report.mistakes[0]}`);
  return report;
}
