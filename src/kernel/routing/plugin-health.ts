const faultsMax = 5;
const windowMs = 60_000;
const openMs = 30_000;

/**
 * Whether a plugin's code works. What counts is its own fault: it threw, returned what is no answer, never ended or
 * flooded; a provider that is down or a request that is wrong does not count. Five faults within a minute without an
 * answer between them, and its routes rest for half a minute; the first fault after that sends them to rest again.
 */
export class PluginHealth {
  #faultsAt: number[] = [];
  #restsUntilMs = 0;

  /** Notes a fault; says whether the plugin rests from now on. */
  fault(nowMs: number): boolean {
    this.#faultsAt = [...this.#faultsAt.filter((atMs) => atMs > nowMs - windowMs), nowMs].slice(-faultsMax);
    if (this.#faultsAt.length < faultsMax) return false;
    this.#restsUntilMs = nowMs + openMs;
    return true;
  }

  /** Notes that it answered. */
  onSuccess(): void {
    if (this.#faultsAt.length > 0) this.#faultsAt = [];
  }

  /** How long its routes still rest, in milliseconds; 0 when they can be tried. */
  openMs(nowMs: number): number {
    return Math.max(0, this.#restsUntilMs - nowMs);
  }
}
