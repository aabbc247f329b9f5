/** What the work took where the limits of CPU time were set. */
const referenceMs = 50;
const tries = 5;

/**
 * How many times slower this machine is than the one on which limits of CPU time were set, at least 1: by the least CPU
 * time of a fixed piece of work.
 */
export function slowness(): number {
  const text = JSON.stringify(Array.from({ length: 200_000 }, (_, index) => ({ index, name: `n${index}` })));
  const times = Array.from({ length: tries }, () => {
    const before = process.cpuUsage();
    JSON.parse(text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.max(1, Math.min(...times) / referenceMs);
}
