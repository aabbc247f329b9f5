/** Waits until something holds, looking again and again. @throws When it does not within `msMax`. */
export async function until(holds: () => boolean | Promise<boolean>, msMax = 120_000): Promise<void> {
  const deadline = Date.now() + msMax;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`Still not so after ${msMax} ms: ${holds}`);
    await Bun.sleep(10);
  }
}
