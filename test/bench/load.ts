import { join } from "node:path";
import { type Question, toAuthorization } from "./exchange.ts";
import { isStreamed, mistakeIn, requestBody } from "./job.ts";
import { coreOf, type Processes } from "./processes.ts";

/** One run of load, as long as `seconds` or as `calls` says. */
export interface LoadOrder extends Question {
  connections: number;
  seconds?: number;
  calls?: number;
  /** Of every answer; see {@link probe}. */
  bodyBytesMin?: number;
  /** Not by wrk, but by a client that reads every answer and cuts off none. */
  ownClient?: boolean;
}

/** What a run gave. First bytes are known from streams only. */
export interface LoadReport {
  calls: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  firstByteP50Ms?: number;
  firstByteP99Ms?: number;
  mistakes: string[];
}

export const wrk = Bun.which("wrk");

/**
 * Runs load and returns when all of it is answered. wrk, where it is installed, for whole answers: it costs least and
 * cuts off at most one call a connection. Streams always by the bench's own client, which lets them finish.
 *
 * @throws {Error} When one answer was not the upstream's, or none came.
 */
export async function runLoad(processes: Processes, order: LoadOrder): Promise<LoadReport> {
  const report = usesWrk(order) ? await runWrk(processes, order) : await runClient(processes, order);
  if (report.mistakes.length > 0) throw new Error(`${order.url} gave a wrong answer: ${report.mistakes[0]}`);
  if (report.calls === 0) throw new Error(`${order.url} answered nothing in ${order.seconds} s`);
  return report;
}

/**
 * wrk counts bytes but reads no body. So one answer is read here, before the load and outside of what is measured,
 * and the others must be as long. The bench's own client reads every answer, and needs none of this.
 */
export async function probe(order: LoadOrder): Promise<LoadOrder> {
  if (!usesWrk(order)) return order;
  const { mistake, body } = await askOnce(order);
  if (mistake !== undefined) throw new Error(`${order.url} gave a wrong answer: ${mistake}`);
  return { ...order, bodyBytesMin: body.length };
}

/** Asks once, and says what was wrong with the answer. @throws When there is none. */
export async function askOnce({ kind, url, key, headers, model }: Question, msMax = 60_000) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: toAuthorization(key), ...headers },
    body: requestBody(kind, model),
    signal: AbortSignal.timeout(msMax),
  });
  const body = await response.text();
  return { mistake: mistakeIn(kind, response.status, body), body, status: response.status };
}

function usesWrk(order: LoadOrder): boolean {
  return wrk !== null && !isStreamed(order.kind) && order.calls === undefined && order.ownClient !== true;
}

async function runClient(processes: Processes, order: LoadOrder): Promise<LoadReport> {
  const command = [process.execPath, join(import.meta.dir, "load-client.ts"), JSON.stringify(order)];
  return JSON.parse(await processes.run(command, coreOf.load));
}

async function runWrk(processes: Processes, order: LoadOrder): Promise<LoadReport> {
  const bodyFile = join(processes.folder, "question.json");
  await Bun.write(bodyFile, requestBody(order.kind, order.model));
  const size = ["-t1", `-c${order.connections}`, `-d${order.seconds}s`, "--timeout", "20s"];
  const script = ["-s", join(import.meta.dir, "wrk-post.lua"), order.url, "--", bodyFile];
  const { keys = { pattern: order.key, count: 0 }, headers = {} } = order;
  const words = [keys.pattern, String(keys.count), ...Object.entries(headers).flat()];
  const output = await processes.run([wrk as string, ...size, ...script, ...words], coreOf.load);
  const line = /^report (\{.*\})$/m.exec(output)?.[1];
  if (line === undefined) throw new Error(`wrk reported nothing: ${output}`);
  const { bytes, failed, refused, ...report } = JSON.parse(line);
  const mistakes: string[] = [];
  if (failed + refused > 0) mistakes.push(`${refused} answers outside 2xx, ${failed} connections failed`);
  const { bodyBytesMin = 0 } = order;
  const bytesPerCall = bytes / report.calls;
  if (bytesPerCall < bodyBytesMin)
    mistakes.push(`answers of ${bytesPerCall} bytes, expected ${bodyBytesMin} and a head`);
  return { ...report, mistakes };
}
