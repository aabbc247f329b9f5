import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { preparePythonClients, pythonClientsMsMax } from "../../support/python.ts";
import { recordingsMissing, recordingsOf } from "../../support/recordings.ts";
import { replyOf } from "../../support/reply.ts";
import { isStream, saidIn } from "../../support/said-in.ts";
import { type Bench, startBench } from "../replay/bench.ts";
import { type Plan, providers, replayOf } from "../replay/plan.ts";

/** Answers first: what fails may be asked for once more. */
const plans = recordingsOf(...providers)
  .map(replayOf)
  .filter((plan) => plan?.endpoint === "/chat/completions")
  .sort((one, other) => (one?.recording.status ?? 0) - (other?.recording.status ?? 0)) as Plan[];
const isError = ({ recording }: Plan) => recording.path.includes("/errors/");

interface Heard {
  text?: string;
  tools?: [string, unknown][];
  error?: string;
  status?: number | null;
}

function recordedFor({ recording }: Plan): Heard {
  const { text = "", tools = [] } = saidIn(recording).choices[0] ?? {};
  return {
    text: text.replace(/^\s*<think>[\s\S]*?(<\/think>\s*|$)/, ""),
    tools: tools.map((tool) => [tool.name, JSON.parse(tool.arguments)]),
  };
}

describe.skipIf(recordingsMissing !== undefined)("the official client for Python over every provider's chat", () => {
  let bench: Bench;
  const heard = new Map<Plan, Heard>();

  beforeAll(async () => {
    const python = await preparePythonClients();
    if (python.missing !== undefined) return console.log(`Skipped: the openai client for Python: ${python.missing}`);
    bench = await startBench();
    const { gateway, upstream } = bench;
    // Each provider answers its recordings in turn, and the script asks for them in the same order.
    for (const provider of providers) {
      const replies = plans.filter((plan) => plan.provider === provider).map(({ recording }) => replyOf(recording));
      if (replies.length > 0) upstream.answer(provider, ...replies);
    }
    const steps = plans.map(({ row, recording }) => ({ model: row.id, stream: isStream(recording) }));
    const file = join(gateway.home, "steps.json");
    await Bun.write(file, JSON.stringify(steps));
    const command = [python.command, join(import.meta.dir, "replay.py"), gateway.baseUrl, gateway.key, file];
    const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe", timeout: 120_000 });
    const [text, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    if (text === "") throw new Error(`The script failed: ${complaint.slice(-1500)}`);
    for (const [place, found] of (JSON.parse(text) as Heard[]).entries()) heard.set(plans[place] as Plan, found);
  }, pythonClientsMsMax);
  afterAll(() => bench?.stop());

  test("reads every answer as it was recorded", () => {
    for (const plan of plans.filter((one) => heard.has(one) && !isError(one))) {
      expect([plan.recording.path, heard.get(plan)]).toEqual([plan.recording.path, recordedFor(plan)]);
    }
  });

  test("raises the class of each error", () => {
    const classes: Record<number, string> = {
      400: "BadRequestError",
      429: "RateLimitError",
      500: "InternalServerError",
    };
    for (const plan of plans.filter((one) => heard.has(one) && isError(one))) {
      const { error, status } = heard.get(plan) as Heard;
      const wanted = isStream(plan.recording) ? "APIError" : classes[status as number];
      expect([plan.recording.path, error]).toEqual([plan.recording.path, wanted as string]);
    }
  });
});

if (recordingsMissing !== undefined) console.log(`Skipped: ${recordingsMissing}`);
