/** A socket of the simulated network: bytes arrive in order and after a while, or with the connection not at all. */
import { EventEmitter } from "node:events";
import type { Process, World } from "./world.ts";

/** The other end of a connection. */
export interface Peer {
  receive(bytes: Buffer): unknown;
  /** The client has closed it. */
  closed(): unknown;
}

/** What listens where gateways connect to. */
export interface Listener {
  /** Accepts a connection to this host name; undefined: refused. */
  accept(socket: SimulatedSocket, host: string): Peer | undefined;
}

const listeners = new WeakMap<World, Listener>();

export function listen(world: World, listener: Listener): void {
  listeners.set(world, listener);
}

export class SimulatedSocket extends EventEmitter {
  readonly process: Process;
  readonly #world: World;
  #peer: Peer | undefined;
  /** When the last message in each direction arrives. */
  #outMs = 0;
  #inMs = 0;
  writable = true;
  destroyed = false;

  constructor(world: World) {
    super();
    this.#world = world;
    if (world.process === undefined) throw new Error("No process runs that could connect");
    this.process = world.process;
  }

  connect(_port: number, host: string): this {
    this.#send(() => {
      const peer = listeners.get(this.#world)?.accept(this, host);
      if (peer === undefined)
        return this.fail(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
      this.#peer = peer;
      this.#arrive(() => this.emit("connect"));
      return undefined;
    });
    return this;
  }

  write(bytes: Uint8Array | string, ...rest: unknown[]): boolean {
    const copy = Buffer.from(bytes as Uint8Array);
    this.#send(() => this.#peer?.receive(copy));
    const done = rest.at(-1);
    if (typeof done === "function") done();
    return true;
  }

  end(): this {
    return this.destroy();
  }

  destroy(error?: Error): this {
    if (this.destroyed) return this;
    this.#sendClose();
    this.#close(error);
    return this;
  }

  /** Bytes for the gateway. */
  deliver(bytes: Buffer, onDelivered?: () => void): void {
    this.#arrive(() => {
      if (this.destroyed) return;
      this.emit("data", bytes);
      onDelivered?.();
    });
  }

  /** The connection breaks, of which the gateway learns. */
  fail(error?: Error): void {
    this.#peer = undefined;
    this.#arrive(() => this.#close(error));
  }

  setNoDelay = (): this => this;
  setKeepAlive = (): this => this;
  setTimeout = (): this => this;
  ref = (): this => this;
  unref = (): this => this;
  cork = (): this => this;
  uncork = (): this => this;

  #close(error?: Error): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.writable = false;
    this.#world.in(0, this.process, () => {
      if (error !== undefined) this.emit("error", error);
      this.emit("end");
      this.emit("close", error !== undefined);
    });
  }

  #sendClose(): void {
    const peer = this.#peer;
    if (peer !== undefined) this.#send(() => peer.closed());
  }

  /** What was sent arrives also when its process is gone. */
  #send(arrive: () => unknown): void {
    this.#outMs = this.#due(this.#outMs);
    this.#world.at(this.#outMs, undefined, arrive);
  }

  #arrive(arrive: () => unknown): void {
    this.#inMs = this.#due(this.#inMs);
    this.#world.at(this.#inMs, this.process, arrive);
  }

  #due(lastMs: number): number {
    const { nowMs, below } = this.#world;
    return Math.max(lastMs, nowMs + 0.1 + below(200) / 100, this.process.host.cutOffUntilMs);
  }
}
