/** Under which the pages keep what was written and chosen. */
export const draftKeys = { create: "atelier-create", studio: "atelier-studio" } as const;

/** What one person wrote is not for the next one at this browser. */
export function forgetDrafts(storage: Pick<Storage, "removeItem">): void {
  for (const key of Object.values(draftKeys)) storage.removeItem(key);
}
