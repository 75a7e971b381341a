/** Under which the pages keep what was written and chosen. */
export const draftKeys = { create: "atelier-create", studio: "atelier-studio" } as const;

/** What a page kept; null where the browser blocks its storage. */
export function readDraft(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keeps what a page holds. In a full or blocked storage nothing is kept, and the page goes on with what it holds. */
export function writeDraft(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // The draft lives as long as the tab.
  }
}

/** What one person wrote is not for the next one at this browser. */
export function forgetDrafts(storage: Pick<Storage, "removeItem">): void {
  for (const key of Object.values(draftKeys)) storage.removeItem(key);
}
