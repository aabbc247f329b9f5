/**
 * Puts a {@link World} in the place of the platform: timers, clocks, random ids, sockets and the files of the spool. It is loaded
 * before the code under test, in a process of its own; without a world everything is as it was.
 */
import { mock } from "bun:test";
import * as files from "node:fs/promises";
import net from "node:net";
import * as timers from "node:timers";
import * as timerPromises from "node:timers/promises";
import { diskOf, isOfDisk } from "./disk.ts";
import { SimulatedSocket } from "./socket.ts";
// Loaded before anything is replaced: it keeps the real turn of the event loop.
import { type Happening, realTurn, type World } from "./world.ts";

const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: realTurn,
  clearImmediate: globalThis.clearImmediate,
  now: Date.now,
  monotonic: performance.now.bind(performance),
  randomUUID: crypto.randomUUID.bind(crypto),
  Socket: net.Socket,
  files: { ...files },
  sleep: timerPromises.setTimeout,
};

let world: World | undefined;

/** Lets code run in this world from now on; `undefined`: on the real platform. */
export function inhabit(next: World | undefined): void {
  world = next;
}

export function inhabited(): World {
  if (world === undefined) throw new Error("No history runs");
  return world;
}

type Work = (...args: unknown[]) => unknown;

/** A timer as Node has them. */
class Timer {
  #happening: Happening;
  readonly #begin: () => Happening;

  constructor(begin: () => Happening) {
    this.#begin = begin;
    this.#happening = begin();
  }

  again(): void {
    this.#happening = this.#begin();
  }

  cancel(): void {
    this.#happening.isCancelled = true;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return false;
  }

  refresh(): this {
    this.cancel();
    this.again();
    return this;
  }
}

function setTimeout(work: Work, ms = 0, ...args: unknown[]): unknown {
  if (world === undefined) return real.setTimeout(work, ms, ...args);
  const [here, { process }] = [world, world];
  return new Timer(() => here.in(Math.max(1, ms), process, () => work(...args)));
}

function setInterval(work: Work, ms = 0, ...args: unknown[]): unknown {
  if (world === undefined) return real.setInterval(work, ms, ...args);
  const [here, { process }] = [world, world];
  const timer: Timer = new Timer(() =>
    here.in(Math.max(1, ms), process, () => {
      timer.again();
      return work(...args);
    }),
  );
  return timer;
}

function setImmediate(work: Work, ...args: unknown[]): unknown {
  if (world === undefined) return real.setImmediate(work, ...args);
  const [here, { process }] = [world, world];
  return new Timer(() => here.in(0, process, () => work(...args)));
}

function clear(timer: unknown): void {
  if (timer instanceof Timer) timer.cancel();
  else real.clearTimeout(timer as NodeJS.Timeout);
}

async function sleep<T>(ms?: number, value?: T): Promise<T> {
  await new Promise<void>((resolve) => setTimeout(() => resolve(), ms));
  return value as T;
}

const replaced = {
  setTimeout,
  clearTimeout: clear,
  setInterval,
  clearInterval: clear,
  setImmediate,
  clearImmediate: clear,
};
Object.assign(globalThis, replaced);
mock.module("node:timers", () => ({ ...timers, ...replaced, default: { ...timers, ...replaced } }));
mock.module("node:timers/promises", () => ({ ...timerPromises, setTimeout: sleep }));

Date.now = () => (world === undefined ? real.now() : world.date);
performance.now = () => (world === undefined ? real.monotonic() : world.nowMs);
crypto.randomUUID = () => {
  if (world === undefined) return real.randomUUID();
  const { below } = world;
  const hex = (digits: number) => Array.from({ length: digits }, () => below(16).toString(16)).join("");
  return `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
};

net.Socket = function Socket(...options: ConstructorParameters<typeof net.Socket>) {
  return world === undefined ? new real.Socket(...options) : new SimulatedSocket(world);
} as unknown as typeof net.Socket;

/** Each call of the file system goes to the disk of the host whose code runs, if it is for a path there. */
const simulatedFiles = Object.fromEntries(
  (["mkdir", "open", "readdir", "readFile", "rename", "rm", "stat"] as const).map((name) => [
    name,
    (path: string, ...rest: unknown[]) => {
      const operation = real.files[name] as (path: string, ...rest: unknown[]) => unknown;
      if (world === undefined || !isOfDisk(path)) return operation(path, ...rest);
      return (diskOf(world)[name] as (path: string, ...rest: unknown[]) => unknown)(path, ...rest);
    },
  ]),
);
mock.module("node:fs/promises", () => ({ ...real.files, ...simulatedFiles }));
