/**
 * A thread of its own that asks the gateway while hostile input arrives: `/healthz` all the time, and a neighbour's chat
 * calls. It shares no event loop with the hostile clients, so that what it measures is the gateway's.
 */
import { readRssMb } from "../../bench/process-stats.ts";

/** Whom to ask. */
export interface ProbeTarget {
  origin: string;
  pid: number;
  /** The neighbour's key. */
  key: string;
}

/** What was seen since the last report. */
export interface ProbeReport {
  healthMsMax: number;
  neighbourMsMax: number;
  /** Answers other than 200, of both. */
  failures: number;
  rssMbMax: number;
}

const betweenHealthMs = 5;
const betweenCallsMs = 25;
const betweenRssMs = 10;
const body = JSON.stringify({ model: "famA-4.1", messages: [{ role: "user", content: "Hello" }] });

declare const self: Worker;
let seen: ProbeReport;
const reset = () => {
  seen = { healthMsMax: 0, neighbourMsMax: 0, failures: 0, rssMbMax: 0 };
};
/** The requests under way: they count for the report that is asked for meanwhile. */
const begun = { healthAt: 0, neighbourAt: 0 };

async function repeat(betweenMs: number, work: () => Promise<void>): Promise<never> {
  for (;;) {
    await work();
    await Bun.sleep(betweenMs);
  }
}

async function ask(url: string, init?: RequestInit): Promise<void> {
  const ok = await fetch(url, init).then(
    async (response) => response.text().then(() => response.ok),
    () => false,
  );
  if (!ok) seen.failures++;
}

function start({ origin, pid, key }: ProbeTarget): void {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  repeat(betweenHealthMs, async () => {
    begun.healthAt = performance.now();
    await ask(`${origin}/healthz`);
    seen.healthMsMax = Math.max(seen.healthMsMax, performance.now() - begun.healthAt);
  });
  repeat(betweenCallsMs, async () => {
    begun.neighbourAt = performance.now();
    await ask(`${origin}/v1/chat/completions`, { method: "POST", headers, body });
    seen.neighbourMsMax = Math.max(seen.neighbourMsMax, performance.now() - begun.neighbourAt);
  });
  repeat(betweenRssMs, async () => {
    seen.rssMbMax = Math.max(seen.rssMbMax, readRssMb(pid));
  });
}

reset();
self.onmessage = ({ data }: MessageEvent<ProbeTarget | "report">) => {
  if (data !== "report") return start(data);
  postMessage(seen);
  reset();
};
