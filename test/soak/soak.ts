import { fillWallet, type Gateway, ownerEmail } from "../support/gateway.ts";
import { dropPlugins, revokeOne, untilSold } from "./disturb.ts";
import type { SoakProvider } from "./provider.ts";
import { Traffic, type TrafficReport } from "./traffic.ts";
import { type Kept, keptBy, Watch } from "./vitals.ts";

/** The traffic, and what changes meanwhile. */
export interface TrafficOrder {
  gateways: readonly Gateway[];
  provider: SoakProvider;
  callsPerSecond: number;
  /** Between two plugins that are replaced, and two keys that are revoked. */
  reloadMs: number;
  revokeMs: number;
}

export interface SoakOrder extends TrafficOrder {
  warmUpSeconds: number;
  seconds: number;
  /** Handles that did not change for so long are those that stay. */
  restMs: number;
  /** How many more handles than after the warm-up may be open at rest. */
  handlesMore: number;
}

/** What became of one gateway. */
export interface Vitals {
  /** At rest after the warm-up, and at rest after the end. */
  before: Kept;
  after: Kept;
  /** Medians of the memory under traffic, of the first and of the second half. */
  traffic: { firstMb: number; secondMb: number; mostMb: number };
}

export interface SoakReport extends TrafficReport {
  vitals: Vitals[];
  reloads: number;
  revocations: number;
}

const sampleMs = 500;
const seed = 20261121;

/** Traffic of all kinds on gateways whose plugins and keys change meanwhile; resolves when all is at rest again. */
export async function soak(order: SoakOrder): Promise<SoakReport> {
  const { gateways } = order;
  const pids = gateways.map(({ pid }) => pid);
  await prepare(order);
  const counts = { reloads: 0, revocations: 0 };
  await disturbed(order, order.warmUpSeconds, counts);
  const before = await Promise.all(pids.map((pid) => keptBy(pid, order.restMs)));
  const watch = new Watch(pids, sampleMs);
  const report = await disturbed(order, order.seconds, counts);
  const traffic = watch.end();
  const after = await Promise.all(
    before.map(({ handles }, i) => keptBy(pids[i] as number, order.restMs, handles + order.handlesMore)),
  );
  const vitals = pids.map((_, i) => ({ before: before[i], after: after[i], traffic: traffic[i] }) as Vitals);
  return { ...report, ...counts, vitals };
}

/** What a gateway makes half a minute after its start, and belongs to what it was before. */
const madeLater = ["/openapi.json", "/api/auth/get-session"];

/** Money for the calls, the plugins whose providers fail in their ways, and what is made at first use. */
export async function prepare({ gateways, provider }: TrafficOrder): Promise<void> {
  const [first] = gateways as [Gateway];
  await fillWallet(first);
  dropPlugins(first.home, provider.baseUrl, 0);
  for (const id of ["soak/fail", "churn/kites", "code/kites"]) await untilSold(gateways, id);
  for (const { origin } of gateways) {
    for (const path of madeLater) await (await fetch(new URL(path, origin))).arrayBuffer();
  }
}

/** Traffic for so long, during which plugins are dropped in anew and keys are revoked. */
export async function disturbed(
  { gateways, provider, callsPerSecond, reloadMs, revokeMs }: TrafficOrder,
  seconds: number,
  counts: { reloads: number; revocations: number },
): Promise<TrafficReport> {
  const [first] = gateways as [Gateway];
  const endsAt = performance.now() + seconds * 1000;
  const traffic = new Traffic(gateways, callsPerSecond, seed);
  try {
    await Promise.all([
      every(reloadMs, endsAt, async () => {
        dropPlugins(first.home, provider.baseUrl, ++counts.reloads);
        await untilSold(gateways, `churn/version-${counts.reloads % 7}`);
      }),
      every(revokeMs, endsAt, async () => {
        await revokeOne(gateways, ownerEmail);
        counts.revocations++;
      }),
    ]);
  } finally {
    // Also after a failure: what was begun is answered before the gateways are ended.
    traffic.stop();
  }
  return await traffic.end();
}

/** Works until the time is up, and returns then, however early the last work was done. */
async function every(ms: number, endsAt: number, work: () => Promise<void>): Promise<void> {
  while (performance.now() + ms < endsAt) {
    await Bun.sleep(ms);
    await work();
  }
  await Bun.sleep(Math.max(0, endsAt - performance.now()));
}
