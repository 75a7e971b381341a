import { readStored, type StudioState, writeStored } from "./state.ts";

export type { Category, Slot, StudioState } from "./state.ts";

const listeners = new Set<() => void>();
let state: StudioState | null = null;

export const emptyStudio: StudioState = {
  personId: null,
  garmentId: null,
  category: "auto",
  engine: null,
  prompt: "",
  jobId: null,
  consentedIds: [],
};

/** What lies on the studio's table; survives a reload and is the same on every visit of the page. */
export const studio = {
  get: (): StudioState => {
    state ??= readStored(emptyStudio);
    return state;
  },
  set: (changes: Partial<StudioState>): void => {
    state = { ...studio.get(), ...changes };
    writeStored(state);
    for (const listener of listeners) listener();
  },
  watch: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};
