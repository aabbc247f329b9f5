/** What is waited for since long is looked at less often: a look may take a millisecond of CPU or more. */
const pauseShare = 0.05;
const pauseMsMax = 100;

/**
 * Waits until something holds, looking again and again, at first every `everyMs`. @throws When it does not within `msMax`.
 */
export async function until(holds: () => boolean | Promise<boolean>, msMax = 120_000, everyMs = 10): Promise<void> {
  const begun = Date.now();
  while (!(await holds())) {
    const waitedMs = Date.now() - begun;
    if (waitedMs > msMax) throw new Error(`Still not so after ${msMax} ms: ${holds}`);
    await Bun.sleep(Math.max(everyMs, Math.min(waitedMs * pauseShare, pauseMsMax)));
  }
}

/** The same by a command of the gateway, whose process takes a tenth of a second of CPU each time. */
export function untilByCommand(holds: () => Promise<boolean>): Promise<void> {
  return until(holds, 120_000, 500);
}
