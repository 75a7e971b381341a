/** The list in pieces of at most `size`, in order. */
export function chunksOf<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  );
}

/** As many as the server takes in one call. */
export const idsPerCall = 500;

export interface CallsMade {
  /** The ids of the calls that were answered. */
  readonly done: readonly string[];
  /** Why the rest was not tried; null when all calls were answered. */
  readonly failure: { readonly error: unknown } | null;
}

/** Calls for one piece of the ids after the other, until one call fails. */
export async function callFor(
  ids: readonly string[],
  call: (ids: string[]) => Promise<unknown>,
): Promise<CallsMade> {
  const done: string[] = [];
  for (const chunk of chunksOf(ids, idsPerCall)) {
    try {
      await call(chunk);
    } catch (error) {
      return { done, failure: { error } };
    }
    done.push(...chunk);
  }
  return { done, failure: null };
}
