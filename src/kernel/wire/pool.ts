import type { LookupFunction } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { UpstreamFault } from "../../contract/index.ts";
import { Connection, type ConnectionKeeper, type ConnectionUser } from "./connection.ts";
import type { Dial } from "./line.ts";
import type { Target } from "./target.ts";

/** How many connections are kept, and for how long. */
export interface PoolBounds {
  /** To one origin, idle and busy. A machine has some 28 000 ports for one destination. */
  socketsMax: number;
  /** Idle ones to one origin; more are closed as they become idle. */
  idleSocketsMax: number;
  /** Below the 60 s after which most servers and balancers close. */
  idleMsMax: number;
  /** Until a connection is open and, where it is TLS, verified. */
  connectMsMax: number;
}

export const defaultPoolBounds: PoolBounds = {
  socketsMax: 20_000,
  idleSocketsMax: 1024,
  idleMsMax: 50_000,
  connectMsMax: 10_000,
};

/** How connections of all pools come about. */
export interface Dialling {
  readonly tls: ConnectionOptions;
  readonly dial: Dial;
  readonly lookup: LookupFunction | undefined;
}

/** Taken off what a server says it waits: a request that is under way when it closes is lost. */
const keepAliveMarginMs = 1000;

/** The connections to one origin. The one that became idle last is taken first, so that those not needed grow old. */
export class Pool implements ConnectionKeeper {
  readonly target: Target;
  readonly tls: ConnectionOptions;
  readonly dial: Dial;
  readonly lookup: LookupFunction | undefined;
  readonly connectMsMax: number;
  readonly #bounds: PoolBounds;
  readonly #idle: Connection[] = [];
  readonly #open = new Set<Connection>();
  session: Uint8Array | undefined;

  constructor(target: Target, { tls, dial, lookup }: Dialling, bounds: PoolBounds) {
    this.target = target;
    this.tls = tls;
    this.dial = dial;
    this.lookup = lookup;
    this.connectMsMax = bounds.connectMsMax;
    this.#bounds = bounds;
  }

  get openCount(): number {
    return this.#open.size;
  }

  get idleCount(): number {
    return this.#idle.length;
  }

  /** An idle connection, now the user's; `undefined` when there is none. */
  takeIdle(user: ConnectionUser, now: number): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined) return undefined;
      if (connection.isGone) continue;
      if (connection.idleUntil > now) {
        connection.take(user);
        return connection;
      }
      connection.destroy();
    }
  }

  /** A new connection, which says when it is open. @throws {UpstreamFault} `overloaded` when there are too many. */
  open(user: ConnectionUser): Connection {
    if (this.#open.size >= this.#bounds.socketsMax) {
      const sentence = `The gateway has ${this.#bounds.socketsMax} connections to the provider in use already`;
      throw new UpstreamFault("overloaded", sentence);
    }
    const connection = new Connection(this, user);
    this.#open.add(connection);
    return connection;
  }

  /** Takes back a connection whose answer was complete. */
  giveBack(connection: Connection, now: number, keepAliveMs: number | undefined): void {
    const { idleMsMax, idleSocketsMax } = this.#bounds;
    const idleMs = keepAliveMs === undefined ? idleMsMax : Math.min(idleMsMax, keepAliveMs - keepAliveMarginMs);
    if (idleMs <= 0 || this.#idle.length >= idleSocketsMax) {
      connection.destroy();
      return;
    }
    connection.idleUntil = now + idleMs;
    connection.rest();
    this.#idle.push(connection);
  }

  forget(connection: Connection): void {
    this.#open.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
  }

  /** Closes what has been idle for too long. */
  closeOld(now: number): void {
    for (const connection of this.#idle.filter(({ idleUntil }) => idleUntil <= now)) connection.destroy();
  }

  closeIdle(): void {
    this.closeOld(Number.POSITIVE_INFINITY);
  }
}
