type Gate = <T>(work: () => Promise<T>) => Promise<T>;

/** Lets `permits` pieces of work run at once; the rest wait in order of asking. */
function createGate(permits: number): Gate {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running < permits) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // A waiting one takes over this permit, so the count stays.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}

/** Above this, a picture takes up to a gigabyte while it is decoded and encoded. */
const largePixels = 20_000_000;
const largeGate = createGate(1);

/** Held while a file's bytes or pixels are in memory: two pictures at once in one process. */
export const withDecodeSlot: Gate = createGate(2);

/** Of the large pictures only one is decoded at a time. Asked for inside a decode slot, never the other way round. */
export function withSpaceFor<T>(pixels: number, work: () => Promise<T>): Promise<T> {
  return pixels > largePixels ? largeGate(work) : work();
}
