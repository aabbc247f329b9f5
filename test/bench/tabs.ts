import { join } from "node:path";
import { coreOf, type Processes } from "./processes.ts";

/** Open tabs of the dashboard's overview, each of a person of its own. */
export interface TabsOrder {
  origin: string;
  cookies: readonly string[];
  seconds: number;
  refreshMs: number;
  /** What a tab asks for at each refresh, followed by the stamp of the calls that it was told last. */
  path: string;
  /** Asked for besides when the calls have changed. */
  usagePath: string;
}

export interface TabsReport {
  refreshes: number;
  /** Left out, because the answer to the one before had not come. */
  late: number;
  mistakes: string[];
}

/**
 * Has tabs refresh, spread over the time between two refreshes, in a process of their own.
 *
 * @throws {Error} When one answer was not whole, or not 200.
 */
export async function runTabs(processes: Processes, order: TabsOrder): Promise<TabsReport> {
  const command = [process.execPath, join(import.meta.dir, "tabs-client.ts"), JSON.stringify(order)];
  const report: TabsReport = JSON.parse(await processes.run(command, coreOf.load));
  if (report.mistakes.length > 0) throw new Error(`a tab was answered wrongly: ${report.mistakes[0]}`);
  return report;
}
