import type { ServerFacts } from "./server-state.ts";

/** Of a server that was not heard of yet. */
export const unknownFacts: ServerFacts = {
  device: null,
  deviceName: null,
  vramTotalBytes: null,
  vramFreeBytes: null,
  version: null,
  needs: [],
  models: [],
  missing: {},
  queueLength: null,
};

/** Asks one server how it is and what it can do. */
export interface ServerProbe {
  read(signal: AbortSignal): Promise<ServerFacts>;
  /** Has the server give back the memory that its models hold. */
  free(signal: AbortSignal): Promise<void>;
  /** What it said about its nodes and models is asked for again by the next `read`. */
  forget(): void;
}
