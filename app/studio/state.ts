import { draftKeys, readDraft, writeDraft } from "../live/forget-drafts.ts";

export type Slot = "person" | "garment";

const categories = ["auto", "top", "bottom", "dress"] as const;
export type Category = (typeof categories)[number];

export interface StudioState {
  readonly personId: string | null;
  readonly garmentId: string | null;
  readonly category: Category;
  /** A workflow's name, or `local`; null: the best that can run now. */
  readonly engine: string | null;
  /** For engines that take words. */
  readonly prompt: string;
  /** The job whose result is shown. */
  readonly jobId: string | null;
  /** Photos for which it was said that the adult on it agrees. */
  readonly consentedIds: readonly string[];
}

const storageKey = draftKeys.studio;
const consentsKept = 200;

function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}

/** Written out: a schema library would be a megabyte more of modules in the page's development build. */
function isState(value: unknown): value is StudioState {
  if (typeof value !== "object" || value === null) return false;
  const { personId, garmentId, category, engine, prompt, jobId, consentedIds } = value as Record<
    string,
    unknown
  >;
  const isIdOrNull = (id: unknown) => id === null || typeof id === "string";
  return (
    [personId, garmentId, jobId, engine].every(isIdOrNull) &&
    typeof prompt === "string" &&
    categories.some((known) => known === category) &&
    Array.isArray(consentedIds) &&
    consentedIds.every((id) => typeof id === "string")
  );
}

export function readStored(fallback: StudioState): StudioState {
  const stored = parse(readDraft(storageKey));
  if (typeof stored !== "object" || stored === null) return fallback;
  // What an older page stored lacks what came later.
  const filled: unknown = { ...fallback, ...stored };
  return isState(filled) ? filled : fallback;
}

export function writeStored(state: StudioState): void {
  const consentedIds = state.consentedIds.slice(-consentsKept);
  writeDraft(storageKey, JSON.stringify({ ...state, consentedIds }));
}
