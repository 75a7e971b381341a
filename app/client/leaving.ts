import { rememberLocale } from "./cookies.ts";

/** The channel of the tabs of one browser (`app/live/tabs.ts`). */
export const channelName = "atelier-live";

/** The message by which a tab announces that the browser uses another account. */
export interface AccountChanged {
  readonly type: "account-changed";
}

/** Keys in localStorage for drafts: the unsent forms of the pages. */
export const draftKeys = {
  create: "atelier-create",
  studio: "atelier-studio",
  ownOnly: "atelier-own-only",
  /** Ids of the pictures that are edited together, and what is done to them. */
  several: "atelier-several",
  recipe: "atelier-recipe",
  /** Questions to the assistant, by their conversation. */
  questions: "atelier-questions",
  /** What was chosen in the palette of commands. */
  palette: "atelier-palette",
  /** Checkpoints that were chosen, the last one first. */
  checkpoints: "atelier-checkpoints",
  /** Seconds of each picture of a slideshow. */
  slideshow: "atelier-slideshow",
  /** Whether the user of this browser has an account. */
  account: "atelier-account",
  /** Keys of requests that were not answered. */
  unanswered: "atelier-unanswered",
} as const;

/** In IndexedDB: the edits of the editor that the server may not have yet. */
export const editDrafts = { database: "atelier-edits", store: "drafts" } as const;

/** In the cache storage: photos that another app shared, until they go up (`public/share-worker.js`). */
export const sharedStore = "atelier-shared";

/** They outlast the end of a session, so that they go up after the next sign-in, but not a sign-out. */
export async function forgetShared(): Promise<void> {
  // There is none over plain http.
  const stores: CacheStorage | undefined = globalThis.caches;
  await stores?.delete(sharedStore).catch(() => false);
}

/** A stored draft; null without one, and when the browser blocks its storage. */
export function readDraft(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Stores a draft. When the storage is full or blocked, the draft lives only in the page. */
export function writeDraft(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // The draft lives as long as the tab.
  }
}

/** Deletes all drafts, so that the next user of this browser cannot read them. */
export function forgetDrafts(storage: Pick<Storage, "removeItem">): void {
  for (const key of Object.values(draftKeys)) storage.removeItem(key);
}

/** This tab announced an account change and is loading another page. */
let isLeaving = false;

/** Call when the session has ended: deletes the drafts and sends every tab to the sign-in page or a reload. */
export const announceSignOut = (): void => leaveSignedOut("/sign-in");

/** The same, but this tab goes elsewhere, as to the page of a provider that ends the session there. */
export function leaveSignedOut(goTo: string): void {
  if (isLeaving) return;
  try {
    forgetDrafts(localStorage);
    indexedDB.deleteDatabase(editDrafts.database);
    // The next user of this browser may have another language.
    rememberLocale(null);
  } catch {
    // A blocked storage holds no drafts, and the sign-out goes on.
  }
  announceAccountChange(goTo);
}

/** Call when this browser uses another account: this tab goes to `goTo`, and all others reload, so that no old data stays visible. */
export function announceAccountChange(goTo: string): void {
  if (isLeaving) return;
  isLeaving = true;
  const channel = new BroadcastChannel(channelName);
  channel.postMessage({ type: "account-changed" } satisfies AccountChanged);
  channel.close();
  window.location.assign(goTo);
}

/** Reloads this tab when another one announces an account change; returns how to stop. */
export function followAccountChange(): () => void {
  const channel = new BroadcastChannel(channelName);
  channel.addEventListener("message", ({ data }: MessageEvent<{ readonly type: string }>) => {
    // This tab may have announced it: then it is already loading another page.
    if (data.type === "account-changed" && !isLeaving) window.location.reload();
  });
  return () => channel.close();
}
