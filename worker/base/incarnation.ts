import type { Node } from "@atelier/server/nodes";

/** The current node of this process. When the watch of another worker marks it lost, a new one is registered. */
export interface Incarnation {
  /** Null while a new incarnation is being registered. */
  current(): Node | null;
  /** Ends the beat; `current` no longer changes. */
  stop(): Promise<void>;
}
