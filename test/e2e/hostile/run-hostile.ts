import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Processes } from "../../bench/processes.ts";
import { startUpstream } from "../../bench/subjects.ts";
import { freePort } from "../../support/free-port.ts";
import { fillWallet, startGateway } from "../../support/gateway.ts";
import { type HostileInput, hostileInputs } from "./inputs.ts";
import type { ProbeReport, ProbeTarget } from "./probe.ts";
import { type Stall, stallProbed, stallSince } from "./stall-probe.ts";

/** What one input did. */
export interface HostileResult extends ProbeReport, Stall {
  input: HostileInput;
  statuses: number[];
}

/** What all of them did. */
export interface HostileRun {
  idleRssMb: number;
  results: HostileResult[];
  /** Calls in the ledger: of the account without money, and of its neighbour. */
  hostileCalls: number;
  neighbourCalls: number;
  /** Whether the ledger is in order afterwards. */
  isVerified: boolean;
}

/** What came before is answered then; its garbage is not yet collected. */
const calmMs = 50;

/** Sends every input to a gateway of its own, with a loopback provider, while a neighbour with money makes calls. */
export async function runHostile(
  onResult: (result: HostileResult, idleRssMb: number) => void,
  {
    inputs = hostileInputs,
    freeTokens = "0",
  }: { inputs?: readonly HostileInput[]; freeTokens?: string | undefined } = {},
): Promise<HostileRun> {
  const processes = new Processes();
  const upstream = await startUpstream(processes);
  const provider = `${upstream.origin}/v1`;
  const names = ["OPENAI", "GROQ", "GEMINI"];
  const env = Object.fromEntries(
    names.flatMap((name) => [
      [`${name}_API_KEY`, "sk-upstream"],
      [`${name}_BASE_URL`, provider],
    ]),
  );
  const stallPort = await freePort();
  const gateway = await startGateway({
    env: { ...env, ...stallProbed(stallPort), FREE_TOKENS_PER_DAY: freeTokens, LOG_LEVEL: "error" },
  });
  const probe = new Worker(new URL("./probe.ts", import.meta.url).href);
  try {
    await fillWallet(gateway);
    const email = "hostile@example.org";
    const account = await gateway.cli<{ id: string }>("account", "create", "--email", email);
    const { key } = await gateway.cli<{ key: string }>("key", "create", "--account", email, "--name", "hostile");
    const { origin, pid } = gateway;
    probe.postMessage({ origin, pid, key: gateway.key } satisfies ProbeTarget);
    await Bun.sleep(calmMs * 20);
    const { rssMbMax: idleRssMb } = await report(probe);
    const results: HostileResult[] = [];
    for (const input of inputs) {
      const act = input.prepare({ origin, key });
      await Bun.sleep(calmMs);
      await Promise.all([report(probe), stallSince(stallPort)]);
      const statuses = await act();
      await Bun.sleep(calmMs);
      results.push({ input, statuses, ...(await report(probe)), ...(await stallSince(stallPort)) });
      onResult(results.at(-1) as HostileResult, idleRssMb);
    }
    const [hostileCalls, neighbourCalls] = countCalls(gateway.home, account.id);
    const { code } = await gateway.run("ledger", "verify");
    return { idleRssMb, results, hostileCalls, neighbourCalls, isVerified: code === 0 };
  } finally {
    probe.terminate();
    await gateway.stop();
    await processes.endAll();
  }
}

function report(probe: Worker): Promise<ProbeReport> {
  return new Promise((resolve) => {
    probe.onmessage = ({ data }: MessageEvent<ProbeReport>) => resolve(data);
    probe.postMessage("report");
  });
}

function countCalls(home: string, accountId: string): [number, number] {
  const database = new DatabaseSync(join(home, "modelgate.db"), { readOnly: true });
  const { own, others } = database
    .prepare("select coalesce(sum(account_id = ?1), 0) as own, coalesce(sum(account_id <> ?1), 0) as others from calls")
    .get(accountId) as { own: number; others: number };
  database.close();
  return [own, others];
}
