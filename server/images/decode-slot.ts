/** Decoded at once in one process: a picture of 50 megapixels takes 150 to 200 MB while its files are made. */
const slots = 2;

let running = 0;
const waiting: (() => void)[] = [];

/** Runs `work` when a slot is free, in order of asking. */
export async function withDecodeSlot<T>(work: () => Promise<T>): Promise<T> {
  if (running < slots) running += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
}
