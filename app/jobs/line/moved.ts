/** The list with one of its items at another place. */
export function moved<Item>(items: readonly Item[], from: number, to: number): readonly Item[] {
  const item = items[from];
  if (item === undefined) return items;
  const others = items.filter((_, index) => index !== from);
  return [...others.slice(0, to), item, ...others.slice(to)];
}

interface InLine {
  readonly id: string;
  readonly queue: string;
  readonly tier: string;
}

/** The job of the same line that comes after this one; null at its end. */
export function nextInLine(jobs: readonly InLine[], id: string): string | null {
  const at = jobs.findIndex((job) => job.id === id);
  const own = jobs[at];
  const after = jobs.slice(at + 1).find(({ queue, tier }) => queue === own?.queue && tier === own.tier);
  return after?.id ?? null;
}
