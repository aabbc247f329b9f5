import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Processes } from "../../bench/processes.ts";
import { startUpstream } from "../../bench/subjects.ts";
import { freePort } from "../../support/free-port.ts";
import { fillWallet, startGateway } from "../../support/gateway.ts";
import type { HostileInput } from "./inputs.ts";
import type { ProbeReport, ProbeTarget } from "./probe.ts";
import { type Stall, stallProbed, stallSince } from "./stall-probe.ts";

/** What one input did. */
export interface HostileResult extends ProbeReport, Stall {
  input: HostileInput;
  statuses: number[];
}

/** A gateway of its own with a loopback provider, a client without money, and a neighbour with money who makes calls all the time. */
export interface HostileBench {
  /** Its memory before the first input. */
  idleRssMb: number;
  send(input: HostileInput): Promise<HostileResult>;
  /** The ledger after all inputs. */
  review(): Promise<HostileReview>;
  stop(): Promise<void>;
}

export interface HostileReview {
  /** Calls in the ledger: of the account without money, and of its neighbour. */
  hostileCalls: number;
  neighbourCalls: number;
  /** Whether the ledger is in order. */
  isVerified: boolean;
}

/** What came before is answered then; its garbage is not yet collected. */
const calmMs = 50;

export async function startHostileBench(freeTokens = "0"): Promise<HostileBench> {
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
    isEngineOwn: true,
    env: { ...env, ...stallProbed(stallPort), FREE_TOKENS_PER_DAY: freeTokens, LOG_LEVEL: "error" },
  });
  const probe = new Worker(new URL("./probe.ts", import.meta.url).href);
  await fillWallet(gateway);
  const email = "hostile@example.org";
  const account = await gateway.cli<{ id: string }>("account", "create", "--email", email);
  const { key } = await gateway.cli<{ key: string }>("key", "create", "--account", email, "--name", "hostile");
  const { origin, pid } = gateway;
  probe.postMessage({ origin, pid, key: gateway.key } satisfies ProbeTarget);
  await Bun.sleep(calmMs * 20);
  const { rssMbMax: idleRssMb } = await report(probe);
  return {
    idleRssMb,
    async send(input) {
      const act = input.prepare({ origin, key });
      await Bun.sleep(calmMs);
      await Promise.all([report(probe), stallSince(stallPort)]);
      const statuses = await act();
      await Bun.sleep(calmMs);
      return { input, statuses, ...(await report(probe)), ...(await stallSince(stallPort)) };
    },
    async review() {
      const [hostileCalls, neighbourCalls] = countCalls(gateway.home, account.id);
      const { code } = await gateway.run("ledger", "verify");
      return { hostileCalls, neighbourCalls, isVerified: code === 0 };
    },
    async stop() {
      probe.terminate();
      await gateway.stop();
      await processes.endAll();
    },
  };
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
