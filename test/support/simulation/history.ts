/**
 * A history of some gateways over one database: what clients and operators do and what fails, one step after another, and what must be
 * so whatever happens.
 */
import { openStore, type Store } from "../../../src/db/index.ts";
import { creditWallet, openLedger, type ProcessLedger, verifyLedger } from "../../../src/ledger/index.ts";
import { UsageRollup } from "../../../src/reports/index.ts";
import { createAdmission, createSettlement } from "../../integration/ledger/admissions.ts";
import { type Backend, Database, type Session } from "./database.ts";
import { diskOf, spoolFolder } from "./disk.ts";
import { inhabit } from "./platform.ts";
import { listen } from "./socket.ts";
import { Host, Process, World } from "./world.ts";

/** One step of a history. Times are in milliseconds; `node` is the place of a host. */
export type Step =
  | { kind: "call"; node: number; account: number; cost: number; ms: number; grows: boolean }
  | { kind: "credit"; node: number; account: number; amount: number }
  | { kind: "wait"; ms: number }
  | { kind: "stall"; ms: number }
  | { kind: "restart"; ms: number }
  | { kind: "refuse"; code: "53100" | "57P01" | "53200"; ms: number }
  | { kind: "readOnly"; ms: number }
  | { kind: "standby"; ms: number }
  | { kind: "failover"; commits: number; connections: "cut" | "demoted" }
  | { kind: "restore"; commits: number; connections: "cut" | "kept" }
  | { kind: "lose"; node: number; what: "request" | "answer" }
  | { kind: "cutOff"; node: number; ms: number }
  | { kind: "kill"; node: number; isHost: boolean; ms: number }
  | { kind: "shutDown"; node: number; ms: number }
  | { kind: "stop"; node: number; ms: number }
  | { kind: "clock"; node: number; ms: number }
  | { kind: "databaseClock"; ms: number }
  | { kind: "fullDisk"; node: number; ms: number };

export interface Plan {
  readonly seed: number;
  readonly nodes: number;
  readonly steps: readonly Step[];
}

/** Bounds of a history. */
export const accountCount = 3;
export const nodesMax = 3;

const timeoutMs = 600;
const deadAfterMs = 3000;
/** How often a gateway does these; `src/app.ts` has its own. */
const syncMs = 500;
const recoverMs = 1000;
const drainMs = 2000;
/** As often as somebody reads a page that shows sums of usage. */
const freshenMs = 1500;
/** Within this time every gateway knows a change that another has made. */
const knownMs = 2 * syncMs + 100;
/** When a server has found out that a peer is gone. */
const keepaliveMs = 3000;
/** A pool closes a connection that nobody used for ten seconds. */
const idleMs = 15_000;
const credit = 1000;
const holdNanodollars = 100;

export const accountId = (account: number) => `acc_sim_${account}`;
export const keyId = (account: number) => `key_sim_${account}`;
const modelOf = (account: number) => `model-${account}`;

/** A call as its client knows it. */
interface Call {
  readonly id: string;
  readonly account: number;
  readonly cost: number;
  readonly process: Process;
  state: "asked" | "refused" | "running" | "answered";
  /** Its charge may be gone for a reason that the documentation names. */
  mayBeLost: boolean;
}

interface Node {
  readonly host: Host;
  process: Process | undefined;
  store: Store | undefined;
  ledger: ProcessLedger | undefined;
  /** SQLSTATE of the last write of calls whose outcome it knows. */
  lastOutcome: string | undefined;
  /** It is to run. */
  isWanted: boolean;
}

/** What is not as it must be. */
export class BrokenRule extends Error {
  override readonly name = "BrokenRule";
}

/** Runs a history. @throws {BrokenRule} When something is not as it must be. */
export async function runHistory(plan: Plan, backend: Backend): Promise<History> {
  const history = new History(plan, backend);
  inhabit(history.world);
  try {
    await history.run();
  } catch (error) {
    (error as Error).message += `\n${history.world.trace.join("\n")}`;
    throw error;
  } finally {
    await history.database.end();
    inhabit(undefined);
  }
  return history;
}

export class History {
  readonly world: World;
  readonly database: Database;
  readonly #plan: Plan;
  readonly #nodes: Node[];
  readonly #calls: Call[] = [];
  /** Entries of wallets that were confirmed. */
  readonly #entries: string[] = [];
  /** Entries that were committed, and that the copy lacked which became the database. */
  readonly #lostEntries = new Set<string>();
  #isOverdrawable = false;
  /** Processes that shut down. */
  readonly #leaving = new Set<Process>();
  /** A rule that was broken between two checks. */
  #broken: BrokenRule | undefined;

  constructor(plan: Plan, backend: Backend) {
    this.#plan = plan;
    this.world = new World(plan.seed);
    this.database = new Database(this.world, backend);
    this.#nodes = Array.from({ length: plan.nodes }, (_, place) => ({
      host: new Host(`host-${place}`),
      process: undefined,
      store: undefined,
      ledger: undefined,
      lastOutcome: undefined,
      isWanted: true,
    }));
    listen(this.world, this.database);
    this.database.onOutcome = (session, error) => this.#noteOutcome(session, error);
  }

  async run(): Promise<void> {
    const { world } = this;
    await this.database.begin();
    for (const node of this.#nodes) await this.#start(node);
    await this.#until("all nodes have started", () => this.#nodes.every(({ ledger }) => ledger !== undefined), 5000);
    for (const [place, step] of this.#plan.steps.entries()) {
      world.say(`step ${place + 1}: ${JSON.stringify(step)}`);
      await this.#take(step);
      await world.runUntil(world.nowMs + 1 + world.below(60));
      await this.#checkNow();
    }
    await this.#mend();
    await this.#checkEnd();
  }

  async #take(step: Step): Promise<void> {
    const { world, database } = this;
    const { nowMs } = world;
    switch (step.kind) {
      case "call":
        return this.#call(step);
      case "credit":
        return this.#credit(step);
      case "wait":
        return world.runUntil(nowMs + step.ms);
      case "stall":
        database.stalledUntilMs = nowMs + step.ms;
        return;
      case "restart":
        database.downUntilMs = nowMs + step.ms;
        return database.cutAll();
      case "refuse":
        database.refusal = step.code;
        database.refusedUntilMs = nowMs + step.ms;
        return;
      case "readOnly":
        database.readOnlyUntilMs = nowMs + step.ms;
        return;
      case "standby":
        database.standbyUntilMs = nowMs + step.ms;
        return database.cutAll();
      case "failover":
      case "restore":
        return this.#goBack(step);
      case "lose":
        database.losses.push({ host: this.#node(step.node).host.name, what: step.what });
        return;
      case "cutOff":
        this.#isOverdrawable = true;
        this.#node(step.node).host.cutOffUntilMs = nowMs + step.ms;
        return;
      case "kill":
        return this.#kill(this.#node(step.node), step);
      case "shutDown":
        return this.#shutDown(this.#node(step.node), step.ms);
      case "stop": {
        this.#isOverdrawable = true;
        const { process } = this.#node(step.node);
        if (process !== undefined) process.stoppedUntilMs = nowMs + step.ms;
        return;
      }
      case "clock":
        this.#node(step.node).host.clockMs += step.ms;
        return;
      case "databaseClock":
        database.clockMs += step.ms;
        return;
      case "fullDisk": {
        const disk = diskOf(world, this.#node(step.node).host);
        disk.isFull = true;
        world.in(step.ms, undefined, () => {
          disk.isFull = false;
        });
      }
    }
  }

  #node(place: number): Node {
    return this.#nodes[place % this.#nodes.length] as Node;
  }

  /** Starts a gateway on a host, as `src/app.ts` does; one that cannot start is started again. */
  async #start(node: Node): Promise<void> {
    const { world } = this;
    const process = new Process(`${node.host.name} ${world.below(1e6)}`, node.host);
    node.process = process;
    await world.enter(process, () => {
      void this.#open(node).catch((error) => {
        world.say(`${node.host.name} does not start: ${(error as Error).message}`);
        this.#end(node, false);
        world.in(500, undefined, () => node.isWanted && node.process === undefined && this.#start(node));
      });
    });
  }

  async #open(node: Node): Promise<void> {
    const { world } = this;
    const { host } = node;
    const say = (event: string, fields: Record<string, unknown>) => {
      world.say(`${host.name} ${event} ${fields.reason ?? (fields.error as Error | undefined)?.message ?? ""}`);
      if (event === "charge_not_kept") this.#lose([fields.request as string]);
    };
    const store = await openStore({
      url: "postgres://modelgate@database:5432/sim",
      timeoutMs,
      deadAfterMs,
      report: say,
      now: Date.now,
    });
    const log = { warn: say, error: say };
    const rollup = new UsageRollup({ store, retentionDays: 30, now: Date.now, log });
    const { ledger } = await openLedger({ spoolFolder }, { store, log, now: Date.now, onEnded: rollup.add });
    const recover = async () => {
      const recovered = await ledger.recover();
      this.#noteEnded(node, recovered.callIds);
      const replayed = await ledger.replay();
      if (replayed > 0) world.say(`${host.name} replays ${replayed}`);
    };
    await recover();
    setInterval(() => {
      if (store.pollExternalChange()) void ledger.sync().catch(() => undefined);
    }, syncMs);
    setInterval(() => void rollup.freshen(), freshenMs);
    setInterval(() => void recover().catch((error) => say("maintenance_failed", { error })), recoverMs);
    node.store = store;
    node.ledger = ledger;
    node.lastOutcome = undefined;
    world.say(`${host.name} has started as ${store.nodeId?.slice(0, 4)}`);
  }

  /** Only the calls of a node that could not say that it lives are ended by another, whatever the database did in the meantime. */
  #noteEnded({ host, process }: Node, ids: readonly string[]): void {
    if (ids.length === 0) return;
    this.world.say(`${host.name} ends ${ids.join(", ")}`);
    const isOfLiving = (call: Call) =>
      ids.includes(call.id) &&
      call.process !== process &&
      call.process.isAlive &&
      !this.#leaving.has(call.process) &&
      this.world.nowMs - this.#disturbedUntil(call.process) > deadAfterMs + 2 * recoverMs;
    const wrong = this.#calls.find(isOfLiving);
    if (wrong !== undefined) this.#broken ??= new BrokenRule(`${host.name} ends ${wrong.id}, whose gateway lives`);
  }

  /** Until when a process stood still, or its host was cut off. */
  #disturbedUntil({ stoppedUntilMs, host }: Process): number {
    return Math.max(stoppedUntilMs, host.cutOffUntilMs);
  }

  /** The process is gone; its connections break at once, or when the server notices. */
  #end(node: Node, isHost: boolean): void {
    const { process } = node;
    if (process === undefined) return;
    process.isAlive = false;
    node.process = undefined;
    node.store = undefined;
    node.ledger = undefined;
    const cut = () => this.database.cut(({ socket }) => socket.process === process);
    this.world.in(isHost ? keepaliveMs : 0.5, undefined, cut);
  }

  #kill(node: Node, { isHost, ms }: { isHost: boolean; ms: number }): void {
    this.#isOverdrawable = true;
    if (isHost) diskOf(this.world, node.host).losePower();
    this.#end(node, isHost);
    this.#startLater(node, ms);
  }

  #startLater(node: Node, ms: number): void {
    this.world.in(ms, undefined, () => (node.process === undefined ? this.#start(node) : undefined));
  }

  async #shutDown(node: Node, ms: number): Promise<void> {
    const { process, ledger, store } = node;
    if (process === undefined || ledger === undefined || store === undefined) return;
    node.ledger = undefined;
    node.store = undefined;
    this.#leaving.add(process);
    await this.world.enter(process, async () => {
      try {
        const waiting = await ledger.close(drainMs);
        this.world.say(`${node.host.name} has closed, ${waiting} charges in its spool`);
      } catch (error) {
        this.world.say(`${node.host.name} has closed: ${(error as Error).message}`);
      }
      await store.close().catch(() => undefined);
      if (node.process === process) this.#end(node, false);
      this.#startLater(node, ms);
    });
  }

  async #call({ node: place, account, cost, ms, grows }: Extract<Step, { kind: "call" }>): Promise<void> {
    const { process, ledger, host } = this.#node(place);
    if (process === undefined || ledger === undefined) return;
    const call: Call = {
      id: `call_${String(this.#calls.length).padStart(4, "0")}`,
      account,
      cost,
      process,
      state: "asked",
      mayBeLost: false,
    };
    this.#calls.push(call);
    const admission = createAdmission({
      callId: call.id,
      accountId: accountId(account),
      keyId: keyId(account),
      model: modelOf(account),
      holdNanodollars: grows ? holdNanodollars / 2 : holdNanodollars,
      openedAt: this.world.date,
    });
    await this.world.enter(process, async () => {
      try {
        await ledger.admit(admission);
      } catch (error) {
        call.state = "refused";
        this.world.say(
          `${host.name} refuses ${call.id}: ${(error as { code?: string }).code} ${(error as Error).message}`,
        );
        return;
      }
      call.state = "running";
      await new Promise<void>((resolve) => setTimeout(resolve, ms / 2));
      if (grows) await ledger.extend({ ...admission, holdNanodollars }).catch(() => undefined);
      await new Promise<void>((resolve) => setTimeout(resolve, ms / 2));
      try {
        await ledger.settle(createSettlement(call.id, { costNanodollars: cost }));
      } catch (error) {
        this.world.say(`${host.name} cannot settle ${call.id}: ${(error as Error).message}`);
        return;
      }
      call.state = "answered";
      this.world.say(`${host.name} has answered ${call.id}`);
    });
  }

  async #credit({ node: place, account, amount }: Extract<Step, { kind: "credit" }>): Promise<void> {
    const { process, store } = this.#node(place);
    if (process === undefined || store === undefined) return;
    await this.world.enter(process, async () => {
      const given = { accountId: accountId(account), nanodollars: amount, note: "more" };
      const entry = await creditWallet(store, given, Date.now).catch(() => undefined);
      if (entry !== undefined) this.#entries.push(entry.entryId);
    });
  }

  /** What was committed and is not in the copy is lost, as the documentation says. */
  async #goBack(step: Extract<Step, { kind: "failover" | "restore" }>): Promise<void> {
    this.#isOverdrawable = true;
    const read = async () => ({
      calls: new Set(
        (await this.database.query("select id from calls where state = 'settled'")).map(({ id }) => id as string),
      ),
      entries: new Set((await this.database.query("select id from transactions")).map(({ id }) => id as string)),
    });
    const before = await read();
    await this.database.goBack(step.commits, step.kind, step.connections);
    const after = await read();
    const lost = [...before.calls.difference(after.calls)];
    this.#lose(lost);
    for (const id of before.entries.difference(after.entries)) this.#lostEntries.add(id);
    this.world.say(`lost the charges of ${lost.join(", ") || "no call"}`);
  }

  #lose(ids: readonly string[]): void {
    for (const call of this.#calls) if (ids.includes(call.id)) call.mayBeLost = true;
  }

  #noteOutcome(session: Session, error: string | undefined): void {
    const { process } = session.socket;
    const node = this.#nodes.find((each) => each.process === process);
    if (node === undefined || !session.name.startsWith("modelgate writes")) return;
    // A write that was refused for what it said, or because another came first, says nothing of the server.
    if (error !== undefined && /^(23|40|MG)/.test(error)) return;
    node.lastOutcome = error;
  }

  /** What must be so at any time. */
  async #checkNow(): Promise<void> {
    const { database, world } = this;
    if (this.#broken !== undefined) throw this.#broken;
    for (const { host, store, ledger, process, lastOutcome } of this.#nodes) {
      if (store === undefined || ledger === undefined || lastOutcome === undefined || process === undefined) continue;
      if (process.stoppedUntilMs > world.nowMs) continue;
      const isReady = store.trouble?.() === undefined && ledger.trouble() === undefined;
      if (isReady) throw new BrokenRule(`${host.name} is ready, and its last write was refused with ${lastOutcome}`);
    }
    // Between the statements of a transaction its rows are there already.
    if (database.owner !== undefined) return;
    const wrong = await database.query(`
      select 'wallet of ' || w.account_id || ' is ' || w.balance_nanodollars || ', its entries and charges sum to ' || s.sum as problem
      from wallets w, lateral (select coalesce((select sum(amount_nanodollars) from transactions t where t.account_id = w.account_id), 0)
        - coalesce((select sum(charged_nanodollars) from calls c where c.account_id = w.account_id), 0) as sum) s
      where w.balance_nanodollars <> s.sum
      union all select 'wallet of ' || account_id || ' is ' || balance_nanodollars || ', and nobody went back'
      from wallets where balance_nanodollars < 0 and ${!this.#isOverdrawable}
      union all select 'call ' || id || ' is of ' || coalesce(account_id, 'nobody') || ' with ' || coalesce(key_id, 'no key') from (
        select id, account_id, key_id from calls union all select id, account_id, key_id from open_calls) c
      where replace(account_id, 'acc', 'key') is distinct from key_id`);
    const [first] = wrong;
    if (first !== undefined) throw new BrokenRule(first.problem as string);
    await this.#checkRows();
  }

  async #checkRows(): Promise<void> {
    const byId = new Map(this.#calls.map((call) => [call.id, call]));
    const rows =
      await this.database.query(`select id, account_id, model, state, charged_nanodollars as charged from calls
      union all select id, account_id, model, 'open', null from open_calls`);
    const open = new Set<string>();
    for (const { id, account_id: account, model, state, charged } of rows) {
      const call = byId.get(id as string);
      if (call === undefined) throw new BrokenRule(`call ${id} was made by nobody`);
      if (account !== accountId(call.account))
        throw new BrokenRule(`${account} pays for ${id} of ${accountId(call.account)}`);
      if (model !== modelOf(call.account))
        throw new BrokenRule(`${id} asked for ${modelOf(call.account)} and stands as one of ${model}`);
      if (state === "open") open.add(call.id);
      if (state === "settled" && Number(charged) !== call.cost) {
        throw new BrokenRule(`${call.id} is charged ${charged}, its answer cost ${call.cost}`);
      }
    }
    const both = rows.filter(({ id, state }) => state !== "open" && open.has(id as string));
    // An end that arrives twice leaves nothing open.
    if (both.length > 0) throw new BrokenRule(`call ${both[0]?.id} has ended and holds money`);
  }

  /** All that failed is well again, and time passes. */
  async #mend(): Promise<void> {
    const { world, database } = this;
    world.say("all is mended");
    const over = { stalledUntilMs: 0, downUntilMs: 0, readOnlyUntilMs: 0, refusedUntilMs: 0, standbyUntilMs: 0 };
    Object.assign(database, over);
    database.losses.length = 0;
    for (const { host, process } of this.#nodes) {
      host.cutOffUntilMs = Math.min(host.cutOffUntilMs, world.nowMs);
      diskOf(world, host).isFull = false;
      if (process !== undefined) process.stoppedUntilMs = Math.min(process.stoppedUntilMs, world.nowMs);
    }
    const isRunning = () => this.#nodes.every(({ ledger }) => ledger !== undefined);
    await this.#until("all nodes run again", isRunning, 60_000);
    await world.runUntil(world.nowMs + keepaliveMs + deadAfterMs + 3 * recoverMs);
    await this.#checkNow();
  }

  async #checkEnd(): Promise<void> {
    const { database } = this;
    for (const { host, store, ledger } of this.#nodes) {
      const trouble = store?.trouble?.() ?? ledger?.trouble();
      if (trouble !== undefined)
        throw new BrokenRule(`${host.name} is not ready long after all was mended: ${trouble}`);
    }
    await this.#until("no gateway is connected to a standby", () => !database.hasStandbySession, idleMs);
    const held = await database.query("select id, hold_nanodollars as hold from open_calls");
    if (held.length > 0) throw new BrokenRule(`call ${held[0]?.id} holds ${held[0]?.hold} of nobody who runs it`);
    const rows = await database.query("select id from calls where state = 'settled'");
    const settled = new Set(rows.map(({ id }) => id));
    for (const call of this.#calls) {
      if (call.state === "answered" && !call.mayBeLost && !settled.has(call.id)) {
        throw new BrokenRule(`${call.id} was answered and is not charged`);
      }
    }
    const entries = new Set((await database.query("select id from transactions")).map(({ id }) => id));
    const isGone = (id: string) => !entries.has(id) && !this.#lostEntries.has(id);
    for (const id of this.#entries) if (isGone(id)) throw new BrokenRule(`the confirmed entry ${id} is gone`);
    const [sums] = await database.query(
      "select (select seq from usage_progress) as counted, (select coalesce(max(seq), 0) from call_rows) as ended",
    );
    if (Number(sums?.counted) < Number(sums?.ended))
      throw new BrokenRule(`calls are counted up to ${sums?.counted} of ${sums?.ended}`);
    await this.#checkService();
  }

  /** A change that one node makes is known to all, whatever connections they have lost. */
  async #checkChanges(): Promise<void> {
    const stores = this.#nodes.map(({ store }) => store as Store);
    const before = stores.map(({ revision }) => revision);
    await this.world.enter(this.#nodes[0]?.process, () => stores[0]?.change(async () => undefined));
    const isKnown = () => stores.every(({ revision }, place) => revision > (before[place] as number));
    await this.#until("a change is known to every node", isKnown, knownMs);
  }

  /** Every node serves a call, and the ledger verifies. */
  async #checkService(): Promise<void> {
    await this.#checkChanges();
    const first = this.#calls.length;
    for (const place of this.#nodes.keys()) {
      await this.#call({ kind: "call", node: place, account: accountCount, cost: 1, ms: 10, grows: false });
    }
    const calls = this.#calls.slice(first);
    const isDone = () => calls.every(({ state }) => state === "answered" || state === "refused");
    await this.#until("a call of each node has ended", isDone, 3 * timeoutMs);
    const refused = calls.findIndex(({ state }) => state === "refused");
    if (refused >= 0) throw new BrokenRule(`host-${refused} refuses calls long after all was mended`);
    const { store, process } = this.#nodes[0] as Node;
    let differences: readonly string[] | undefined;
    await this.world.enter(process, async () => {
      ({ differences } = await verifyLedger(store as Store, this.world.date));
    });
    await this.#until("the ledger is verified", () => differences !== undefined, 10_000);
    if (differences !== undefined && differences.length > 0) throw new BrokenRule(`verify: ${differences.join("; ")}`);
  }

  async #until(what: string, isSo: () => boolean, msMax: number): Promise<void> {
    if (!(await this.world.runUntilIsSo(isSo, msMax))) throw new BrokenRule(`after ${msMax} ms it is not so: ${what}`);
  }
}

export { credit as creditAtFirst };
