import { createLiveStore } from "./store.ts";

/** The one store of a tab. */
export const live = createLiveStore();
