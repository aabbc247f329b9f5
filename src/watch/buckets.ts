/** Counts by size for a histogram with fixed bounds; noting one is a walk over a few numbers. */
export class Buckets {
  /** Upper bounds, rising; what is larger than the last is counted in one more. */
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  note(value: number): void {
    const { bounds, counts } = this;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index++;
    counts[index] = (counts[index] as number) + 1;
    this.sum += value;
    this.count++;
  }
}
