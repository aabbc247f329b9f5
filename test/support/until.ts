/** Waits until something holds, looking again and again. @throws When it does not within `msMax`. */
export async function until(holds: () => boolean | Promise<boolean>, msMax = 120_000, everyMs = 10): Promise<void> {
  const deadline = Date.now() + msMax;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`Still not so after ${msMax} ms: ${holds}`);
    await Bun.sleep(everyMs);
  }
}

/** The same by a command of the gateway, whose process takes a tenth of a second of CPU each time. */
export function untilByCommand(holds: () => Promise<boolean>): Promise<void> {
  return until(holds, 120_000, 500);
}
