import type { Config } from "../../config/index.ts";
import { GatewayError } from "../../contract/index.ts";
import type { Kernel } from "../../kernel/index.ts";
import { DeliveryError, findSmtp } from "../../mail/index.ts";
import type { ProviderHealth } from "../../providers/index.ts";
import { readUsedModels } from "../../reports/index.ts";
import type { VerifyLedger } from "../module.ts";
import { listChannels, openChannel } from "./channels.ts";
import { createDelivery, type DeliveryDeps } from "./deliver.ts";
import { queueDigests } from "./digest.ts";
import { tryAcquireLease } from "./leases.ts";
import { checkLedger } from "./ledger-check.ts";
import { checkMetricRules, listMetricRules } from "./metric-rules.ts";
import { readNodeState, readSharedState } from "./read-state.ts";
import { type OwnedFinding, readMutes, readStartTimes, recordFindings, roundMs } from "./record-findings.ts";
import { gatewayOwner, readRules, toThresholds } from "./rule-settings.ts";
import { checkNode, checkService, checkShared, type Finding, listEnded, type Thresholds } from "./rules.ts";
import type { ServiceHealth } from "./service-health.ts";
import { type OpenChannel, type Remembered, StorelessAlerts } from "./storeless.ts";
import { toAlertKey } from "./subject.ts";

const deliverMs = 5000;
/** How often a process looks whether it serves. */
const watchMs = 5000;
/** An evaluation that is as old did not get through. */
const evaluatedMs = 2.5 * roundMs;
/** A turn is shorter than a round: a timer that is a little early then does not miss it. */
const turnMs = 0.8 * roundMs;
const accountsAtOnce = 200;
/** A model that was called within this many days is in use. */
const usedDays = 30;

export interface AlertsDeps extends DeliveryDeps {
  readonly config: Config;
  readonly kernel: Pick<Kernel, "registry" | "now">;
  /** The health of the providers. */
  readonly health: () => readonly ProviderHealth[];
  /** Has the sums of calls include the latest ones. */
  readonly freshen: () => Promise<void>;
  readonly service: ServiceHealth;
  /** Verifies the ledger apart from this process; absent: it is not verified by itself. */
  readonly verifyLedger?: VerifyLedger | undefined;
}

/** Checks the rules, and sends the messages that are due. */
export function createAlerts(deps: AlertsDeps) {
  const { store, config, kernel, now, service } = deps;
  const { deliverDue, send } = createDelivery(deps);
  const keyOf = (finding: Finding) => toAlertKey({ owner: gatewayOwner, ...finding });
  const storeless = new StorelessAlerts({ send, keyOf, publicUrl: config.publicUrl });
  let evaluatedAt = Number.NEGATIVE_INFINITY;
  const remember = async (thresholds: Thresholds) => {
    storeless.remember({ ...(await readChannels(deps)), thresholds });
    evaluatedAt = now();
  };
  const readThresholds = async () => toThresholds((await readRules(store, [gatewayOwner])).get(gatewayOwner) ?? []);
  return {
    deliverDue,
    /** Reads the data that {@link watch} needs. */
    async prepare(): Promise<void> {
      await remember(await readThresholds());
    },
    /** Checks whether this process serves, and sends that by itself where the database cannot be used for it. */
    async watch(): Promise<void> {
      const at = now();
      const state = service.read();
      const isStoreUsed = state.trouble === undefined && at - evaluatedAt < evaluatedMs;
      await storeless.tell(checkService(state, storeless.thresholds, at), at, !isStoreUsed);
    },
    /** Checks this node's own state and, if it holds the lease, the shared state. */
    async evaluate(): Promise<void> {
      const at = now();
      const findings: OwnedFinding[] = [];
      const add = (owner: string, news: readonly Finding[]) =>
        findings.push(...news.map((finding) => ({ ...finding, owner })));
      const thresholds = await readThresholds();
      const state = service.read();
      const ofService = checkService(state, thresholds, at);
      const ended = new Set(listEnded(state).map((one) => toAlertKey({ owner: gatewayOwner, ...one })));
      add(gatewayOwner, ofService);
      await deps.freshen();
      const usedModels = () => readUsedModels(store, { days: usedDays, now: at });
      const sources = { folder: config.home, health: deps.health, usedModels };
      add(gatewayOwner, checkNode(await readNodeState(kernel, sources), thresholds, at));
      if (await tryAcquireLease(store, "shared", turnMs, at)) {
        const shared = await readSharedState(store, { walletBelow: thresholds.wallet_low ?? 0, now: at });
        add(gatewayOwner, checkShared(shared, thresholds));
        add(gatewayOwner, await checkMetricRules(store, await listMetricRules(store), at));
        await checkAccounts(deps, at, add);
      }
      const sentAlerts = storeless.listTold(ofService);
      await recordFindings(store, findings, { now: at, publicUrl: config.publicUrl, sentAlerts, ended });
      storeless.handOver(sentAlerts);
      await remember(thresholds);
    },
    /** Queues the digests that are due. */
    async queueDigests(): Promise<void> {
      await queueDigests(deps);
    },
    /** Verifies the ledger, once a day on one of the nodes. */
    async checkLedger(): Promise<void> {
      if (deps.verifyLedger !== undefined) await checkLedger(store, deps.verifyLedger, now());
    },
  };
}

/** The gateway's own channels that can be decrypted, with the settings for sending. */
async function readChannels(deps: AlertsDeps): Promise<Omit<Remembered, "thresholds">> {
  const { store, secrets, now } = deps;
  const channels: OpenChannel[] = [];
  for (const { id } of await listChannels(store, gatewayOwner)) {
    const channel = await openChannel(store, secrets, id).catch((error) => {
      if (error instanceof DeliveryError || error instanceof GatewayError) return undefined;
      throw error;
    });
    if (channel !== undefined) channels.push(channel);
  }
  const muted = await readMutes(store, now());
  const startedAt = await readStartTimes(store, gatewayOwner);
  return { channels, smtp: await findSmtp(deps), muted: new Set(muted.keys()), startedAt };
}

/** The rules of account holders who have a channel. */
async function checkAccounts(
  { store }: AlertsDeps,
  now: number,
  add: (owner: string, findings: readonly Finding[]) => void,
): Promise<void> {
  const rows = await store.db
    .selectFrom("alert_channels")
    .select("owner")
    .distinct()
    .where("owner", "<>", gatewayOwner)
    .orderBy("owner")
    .execute();
  for (let from = 0; from < rows.length; from += accountsAtOnce) {
    const accountIds = rows.slice(from, from + accountsAtOnce).map(({ owner }) => owner);
    const rules = await readRules(store, accountIds);
    const thresholds = new Map([...rules].map(([id, settings]) => [id, toThresholds(settings)]));
    const walletBelow = Math.max(0, ...[...thresholds.values()].map((one) => one.wallet_low ?? 0));
    const state = await readSharedState(store, { walletBelow, accountIds, now });
    for (const [id, own] of thresholds) {
      const isOwn = ({ accountId }: { accountId: string }) => accountId === id;
      const part = { ...state, wallets: state.wallets.filter(isOwn), budgets: state.budgets.filter(isOwn) };
      add(id, checkShared(part, own));
    }
  }
}

/** Starts the timers. Returns a function that stops them. */
export function startAlerts(deps: AlertsDeps): () => void {
  const alerts = createAlerts(deps);
  const report = (error: unknown) => deps.log.warn("alerts_failed", { error });
  alerts.prepare().catch(report);
  const timers = [
    startTimer(alerts.watch, watchMs, report),
    startTimer(alerts.evaluate, roundMs, report),
    startTimer(alerts.deliverDue, deliverMs, report),
    startTimer(alerts.queueDigests, roundMs, report),
    startTimer(alerts.checkLedger, roundMs, report),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}

/** Repeats work that never overlaps with itself. */
function startTimer(work: () => Promise<void>, ms: number, report: (error: unknown) => void) {
  let isRunning = false;
  const timer = setInterval(async () => {
    if (isRunning) return;
    isRunning = true;
    await work().catch(report);
    isRunning = false;
  }, ms);
  timer.unref();
  return timer;
}
