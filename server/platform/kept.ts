type Close = () => void | Promise<void>;

const closesByOwner = new WeakMap<object, Set<Close>>();

/**
 * What a process keeps for something that it holds open, such as its services or its database: made on first use, the
 * same for each later call with that owner, and closed with it by `closeKept`. The one home of state that is neither in
 * the database nor in `Services` itself.
 */
export function keptBy<Owner extends object, Kept>(
  make: (owner: Owner) => Kept,
  close?: (kept: Kept) => void | Promise<void>,
): (owner: Owner) => Kept {
  const keptByOwner = new WeakMap<Owner, { readonly kept: Kept }>();
  return (owner) => {
    const known = keptByOwner.get(owner);
    if (known) return known.kept;
    const kept = make(owner);
    keptByOwner.set(owner, { kept });
    const closes = closesByOwner.get(owner) ?? new Set();
    closesByOwner.set(
      owner,
      closes.add(() => {
        keptByOwner.delete(owner);
        return close?.(kept);
      }),
    );
    return kept;
  };
}

/** Closes all that is kept for these owners, each after the one before; an error of one keeps none of the others open. */
export async function closeKept(...owners: readonly object[]): Promise<void> {
  for (const owner of owners) {
    const closes = [...(closesByOwner.get(owner) ?? [])];
    closesByOwner.delete(owner);
    await Promise.allSettled(closes.map(async (close) => close()));
  }
}

/** Keeps a value under its key; of more than `most`, the one that was kept longest ago goes. */
export function keepNewest<Key, Value>(
  values: Map<Key, Value>,
  [key, value]: readonly [Key, Value],
  most: number,
): void {
  values.delete(key);
  values.set(key, value);
  const [oldest] = values.size > most ? values.keys() : [];
  if (oldest !== undefined) values.delete(oldest);
}
