/** Ids from one to the other, both included, in the order of the list; just the second when the first is gone. */
export function rangeBetween(items: readonly { readonly id: string }[], from: string, to: string): string[] {
  const start = items.findIndex((item) => item.id === from);
  const end = items.findIndex((item) => item.id === to);
  if (start === -1 || end === -1) return [to];
  return items.slice(Math.min(start, end), Math.max(start, end) + 1).map((item) => item.id);
}
