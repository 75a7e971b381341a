/** The chosen ids less those of pictures that are not shown; the same set when all are. */
export function keepShown(
  chosen: ReadonlySet<string>,
  images: readonly { readonly id: string }[],
): ReadonlySet<string> {
  if (chosen.size === 0) return chosen;
  const kept = new Set(images.map((image) => image.id).filter((id) => chosen.has(id)));
  return kept.size === chosen.size ? chosen : kept;
}
