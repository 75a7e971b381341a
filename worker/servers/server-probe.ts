import type { Need } from "@atelier/server/engines";
import type { MissingByWorkflow } from "./server-state.ts";

/** What one probe found out. */
export interface ServerFacts {
  readonly device: string | null;
  readonly deviceName: string | null;
  readonly vramTotalBytes: number | null;
  readonly vramFreeBytes: number | null;
  readonly version: string | null;
  readonly needs: readonly Need[];
  readonly models: readonly string[];
  readonly missing: MissingByWorkflow;
  readonly queueLength: number | null;
}

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
