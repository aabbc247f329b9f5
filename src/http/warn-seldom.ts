import type { HttpGround } from "./ground.ts";

const silenceMs = 10_000;
const saidAt = new WeakMap<HttpGround, Map<string, number>>();

/** Logs a failure that every open page meets again and again: once in ten seconds. */
export function warnSeldom(ground: HttpGround, event: string, error: unknown): void {
  let times = saidAt.get(ground);
  if (times === undefined) {
    times = new Map();
    saidAt.set(ground, times);
  }
  const now = ground.now();
  const last = times.get(event);
  if (last !== undefined && now >= last && now < last + silenceMs) return;
  times.set(event, now);
  ground.log.warn(event, { error });
}
