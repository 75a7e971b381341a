import type { Incarnation } from "../presence.ts";
import type { LiveOffer } from "../offer/index.ts";
import type { Runs } from "../runs.ts";
import type { ServerPool } from "../servers/index.ts";
import type { Space } from "../space.ts";

/** The parts of the worker that its health tells of. */
export interface WorkerView {
  readonly incarnation: Incarnation;
  readonly offer: LiveOffer;
  readonly runs: Runs;
  readonly pool: ServerPool;
  readonly space: Space;
}
