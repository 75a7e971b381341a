import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { waitUntil } from "../../scripts/process/tools.ts";

/** Waits until what is read equals `wanted`; fails with the difference after `patienceMs`. For tests that run at once. */
export async function eventually<T>(
  read: () => T | Promise<T>,
  wanted: T,
  patienceMs = 30_000,
): Promise<void> {
  let last = await read();
  await waitUntil(async () => isDeepStrictEqual((last = await read()), wanted), patienceMs);
  expect(last).toEqual(wanted);
}
