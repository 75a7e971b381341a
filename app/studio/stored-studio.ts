import { z } from "zod/mini";

export type Slot = "person" | "garment";

const schema = z.object({
  personId: z.nullable(z.string()),
  garmentId: z.nullable(z.string()),
  category: z.enum(["auto", "top", "bottom", "dress"]),
  /** The job whose result is shown. */
  jobId: z.nullable(z.string()),
  /** Photos for which it was said that the adult on it agrees. */
  consentedIds: z.array(z.string()),
});

export type StudioState = z.infer<typeof schema>;
export type Category = StudioState["category"];

const storageKey = "atelier-studio";
const consentsKept = 200;

function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}

export function readStored(fallback: StudioState): StudioState {
  const parsed = schema.safeParse(parse(localStorage.getItem(storageKey)));
  return parsed.success ? parsed.data : fallback;
}

export function writeStored(state: StudioState): void {
  const consentedIds = state.consentedIds.slice(-consentsKept);
  localStorage.setItem(storageKey, JSON.stringify({ ...state, consentedIds }));
}
