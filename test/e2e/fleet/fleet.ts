import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, type Store } from "../../../src/db/index.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { creditWallet } from "../../../src/ledger/index.ts";
import { type Gateway, startGateway } from "../../support/gateway.ts";
import { backUp, newDatabase, type PostgresServer, startPostgres, startStandby } from "../../support/postgres.ts";
import { launchRedis, type TestRedis } from "../../support/redis-server.ts";
import { type SlowProxy, startSlowProxy } from "../../support/slow-proxy.ts";
import type { ProviderManner } from "./numbers.ts";

export const places = 2;

/** Nothing waits for longer, however slow the machine is: who does hangs. */
export const patienceMs = 180_000;
const retryMs = 500;

export const freeTokensPerDay = 20_000;
export const budgetNanodollars = 10_000_000;
const richNanodollars = 1_000_000_000_000;
const poorNanodollars = 10_000_000;
const premiumModel = "famA-4.1";
const freeModel = "famA-4.1-nano";

/** However this process ends, none of the processes of a fleet outlives it. */
const children = new Set<number>();
process.on("exit", () => {
  for (const pid of children) kill(pid, "SIGKILL");
});

/** One that has just ended needs no signal. */
function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as { code?: string }).code !== "ESRCH") throw error;
  }
}

/** Who pays for calls. */
export interface Payer {
  readonly name: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly key: string;
  readonly model: string;
  /** Whether its key has a budget. */
  readonly hasBudget: boolean;
}

/** What of the fleet a pair of faults needs. */
export interface FleetOptions {
  readonly hasStandby: boolean;
}

/** Two gateways, a PostgreSQL with a standby, a Redis and a provider, each in processes of its own; relays stand before both stores. */
export class Fleet {
  readonly gateways: (Gateway | undefined)[] = [];
  readonly relays: { readonly postgres: SlowProxy; readonly redis: SlowProxy }[] = [];
  readonly payers: Payer[] = [];
  /** By how much the clock of each gateway is ahead from its next start on, in milliseconds. */
  readonly clocksMs: number[] = [];
  primary!: PostgresServer;
  standby: PostgresServer | undefined;
  redis!: TestRedis;
  /** File of a backup of when everything was set up. */
  backup!: string;
  #provider!: Bun.Subprocess<"ignore", "pipe", "inherit">;
  #providerUrl!: string;
  #database!: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "modelgate-test-"));
  readonly #servers: PostgresServer[] = [];
  readonly #ending = new Set<Gateway>();
  readonly #starts: (Promise<void> | undefined)[] = [];
  #isOver = false;

  static async start({ hasStandby }: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet();
    try {
      await fleet.#start(hasStandby);
    } catch (error) {
      await fleet.remove();
      throw error;
    }
    return fleet;
  }

  async #start(hasStandby: boolean): Promise<void> {
    this.#provider = Bun.spawn([process.execPath, join(import.meta.dir, "provider.ts")], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    children.add(this.#provider.pid);
    const { value } = await this.#provider.stdout.getReader().read();
    this.#providerUrl = `http://127.0.0.1:${new TextDecoder().decode(value).trim()}`;
    this.primary = await startPostgres();
    this.#servers.push(this.primary);
    this.redis = await launchRedis();
    this.#database = new URL(await newDatabase(this.primary)).pathname.slice(1);
    for (let place = 0; place < places; place++) {
      const [postgres, redis] = [await startSlowProxy(this.primary.port), await startSlowProxy(this.redis.port)];
      this.relays.push({ postgres, redis });
    }
    await this.ensureRunning(0);
    await this.withStore((store) => this.#makePayers(store));
    for (let place = 1; place < places; place++) await this.ensureRunning(place);
    this.backup = join(this.#folder, "backup");
    if (!hasStandby) return;
    this.standby = await startStandby(this.primary);
    this.#servers.push(this.standby);
  }

  /** Accounts with much money, with little, with a budget, with limits, and with the free quota alone. */
  async #makePayers(store: Store): Promise<void> {
    this.payers.push(
      await this.makePayer(store, { name: "rich", nanodollars: richNanodollars }),
      await this.makePayer(store, { name: "poor", nanodollars: poorNanodollars }),
      await this.makePayer(store, { name: "poorer", nanodollars: poorNanodollars / 2 }),
      await this.makePayer(store, {
        name: "with a budget",
        nanodollars: richNanodollars,
        bounds: { budgetNanodollars, budgetPeriod: "month" },
      }),
      await this.makePayer(store, {
        name: "limited",
        nanodollars: richNanodollars,
        bounds: { requestsPerMinute: 60, concurrentCalls: 1 },
      }),
      await this.makePayer(store, { name: "free", model: freeModel }),
    );
  }

  async makePayer(store: Store, { name, nanodollars, bounds, model = premiumModel }: PayerOptions): Promise<Payer> {
    const defaults = { requestsPerMinute: 1_000_000, tokensPerMinute: 1_000_000_000, freeTokensPerDay };
    const accounts = createAccounts({ store, defaults, now: Date.now });
    const { id: accountId } = await accounts.create({ email: `${name.replaceAll(" ", "-")}@example.org` });
    if (nanodollars !== undefined) await creditWallet(store, { accountId, nanodollars, note: "simulated" });
    const { id: keyId, key } = await accounts.createKey({ accountId, name, ...(bounds && { bounds }) });
    return { name, accountId, keyId, key, model, hasBudget: bounds?.budgetNanodollars !== undefined };
  }

  /** The address of the database that takes writes now, without a relay. */
  get url(): string {
    return this.primary.url(this.#database);
  }

  /** Whether all connections of the gateways lead to the server that takes writes. */
  get isAtPrimary(): boolean {
    return this.relays.every(({ postgres }) => [...postgres.ports].every((port) => port === this.primary.port));
  }

  /** Opens the database as a command does, with the patience of an operator, who tries again. */
  async withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    return await this.untilDone(async () => {
      const store = await openStore({ url: this.url, timeoutMs: patienceMs });
      try {
        return await work(store);
      } finally {
        await store.close();
      }
    });
  }

  /** Tries again until it succeeds. @throws What it failed with, when the patience is at its end. */
  async untilDone<T>(work: () => Promise<T>): Promise<T> {
    const deadline = Date.now() + patienceMs;
    while (true) {
      try {
        return await work();
      } catch (error) {
        if (Date.now() > deadline || this.#isOver) throw error;
        await Bun.sleep(retryMs);
      }
    }
  }

  async makeBackup(): Promise<void> {
    await backUp(this.url, this.backup);
  }

  /** Leads all gateways to the standby, which has become the primary; their connections to the old one are cut, or stay. */
  moveTo(server: PostgresServer, { isCut }: { isCut: boolean }): void {
    this.primary = server;
    for (const { postgres } of this.relays) {
      postgres.targetPort = server.port;
      if (isCut) postgres.cut();
    }
  }

  /** Starts the gateway of this place on its home, unless it runs; as a supervisor, again and again. */
  ensureRunning(place: number): Promise<void> {
    this.#starts[place] ??= this.#startGateway(place).finally(() => {
      this.#starts[place] = undefined;
    });
    return this.#starts[place] as Promise<void>;
  }

  async #startGateway(place: number): Promise<void> {
    const old = this.gateways[place];
    if (old !== undefined) {
      if (!this.#ending.has(old)) return;
      await old.ended;
      await old.stop();
    }
    const { postgres, redis } = this.relays[place] as { postgres: SlowProxy; redis: SlowProxy };
    postgres.keepsServerSide = false;
    const clockMs = this.clocksMs[place] ?? 0;
    const env: Record<string, string> = {
      DATABASE_URL: `postgres://modelgate@127.0.0.1:${postgres.port}/${this.#database}`,
      REDIS_URL: `redis://127.0.0.1:${redis.port}/0`,
      OPENAI_API_KEY: "sk",
      OPENAI_BASE_URL: `${this.#providerUrl}/v1`,
      FREE_TOKENS_PER_DAY: String(freeTokensPerDay),
      UPSTREAM_TIMEOUT_SECONDS: "5",
      DRAIN_SECONDS: "5",
      // Calls that a busy machine refuses would hide those that a fault refuses.
      OVERLOAD_LAG_MS: "0",
      ...(clockMs !== 0 && {
        BUN_OPTIONS: `--preload=${join(import.meta.dir, "wrong-clock.ts")}`,
        CLOCK_MS: String(clockMs),
      }),
    };
    const home = join(this.#folder, `home-${place}`);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    const gateway = await this.untilDone(() => startGateway({ home, env, isUnready: true }));
    this.gateways[place] = gateway;
    children.add(gateway.pid);
    void gateway.ended.then(() => children.delete(gateway.pid));
  }

  /** Sends a signal to the gateway of this place, if it runs. */
  signal(place: number, name: NodeJS.Signals): void {
    const gateway = this.gateways[place];
    if (gateway === undefined) return;
    if (this.#ending.has(gateway) && name !== "SIGCONT") return;
    if (name === "SIGKILL" || name === "SIGTERM") this.#ending.add(gateway);
    kill(gateway.pid, name);
  }

  /** How often the provider was asked for each call. */
  async readBooks(): Promise<ReadonlyMap<number, number>> {
    return new Map((await (await fetch(`${this.#providerUrl}/books`)).json()) as [number, number][]);
  }

  async setProvider(manner: ProviderManner): Promise<void> {
    await fetch(`${this.#providerUrl}/manner`, { method: "POST", body: manner });
  }

  /** What the gateway of each place logged as a warning or an error, a line for each event, without repetitions. */
  logOf(place: number): string[] {
    const events = (this.gateways[place]?.stderr() ?? "").split("\n").flatMap((line) => {
      try {
        const { event, level, reason } = JSON.parse(line) as Record<string, unknown>;
        return level === "info" ? [] : [`${event} ${reason ?? ""}`];
      } catch {
        return [];
      }
    });
    return [...new Set(events)];
  }

  async remove(): Promise<void> {
    this.#isOver = true;
    await Promise.allSettled(this.#starts);
    await Promise.all(
      this.gateways.map(async (gateway, place) => {
        if (gateway === undefined) return;
        this.signal(place, "SIGCONT");
        await gateway.stop();
      }),
    );
    for (const { postgres, redis } of this.relays) await Promise.all([postgres.stop(), redis.stop()]);
    await this.redis?.remove();
    for (const server of this.#servers) await server.remove();
    if (this.#provider !== undefined) {
      this.#provider.kill("SIGKILL");
      children.delete(this.#provider.pid);
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

interface PayerOptions {
  readonly name: string;
  readonly nanodollars?: number;
  readonly bounds?: {
    budgetNanodollars?: number;
    budgetPeriod?: "month";
    requestsPerMinute?: number;
    concurrentCalls?: number;
  };
  readonly model?: string;
}
