/** Sets the clock of the process that preloads this ahead by `CLOCK_MS` milliseconds, or back. */
const aheadMs = Number(process.env.CLOCK_MS);
const RightDate = Date;

globalThis.Date = class extends RightDate {
  constructor(...parts: ConstructorParameters<typeof Date> | []) {
    if (parts.length === 0) super(RightDate.now() + aheadMs);
    else super(...parts);
  }

  static override now(): number {
    return RightDate.now() + aheadMs;
  }
} as DateConstructor;
