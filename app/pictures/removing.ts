/** Of this browser tab. */
const removing = new Set<string>();

/** Runs the removal of pictures; while it is on its way a list that is read may still hold them. */
export async function whileRemoving<T>(ids: readonly string[], remove: () => Promise<T>): Promise<T> {
  for (const id of ids) removing.add(id);
  try {
    return await remove();
  } finally {
    for (const id of ids) removing.delete(id);
  }
}

/** The pictures of a list without those whose removal is on its way. */
export function withoutRemoving<P extends { readonly id: string }>(pictures: readonly P[]): P[] {
  return pictures.filter(({ id }) => !removing.has(id));
}
