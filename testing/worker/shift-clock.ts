/** Preloaded into a process and its threads: their clock is wrong by so many ms. */
const shiftName = "ATELIER_TEST_CLOCK_SHIFT_MS";

const shiftMs = Number(process.env[shiftName] ?? 0);
const RealDate = Date;

class ShiftedDate extends RealDate {
  constructor(...args: [] | [number | string | Date]) {
    super(args.length === 0 ? RealDate.now() + shiftMs : args[0]);
  }
  static override now(): number {
    return RealDate.now() + shiftMs;
  }
}

if (shiftMs !== 0) globalThis.Date = ShiftedDate as DateConstructor;
