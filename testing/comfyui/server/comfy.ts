import type { FaultBox } from "../faults/fault-box.ts";
import type { Files } from "../files.ts";
import type { SettledOptions } from "../options.ts";
import type { Session } from "./session.ts";
import type { Ledger } from "./stats.ts";

/** A simulated server: what stays over a restart, and the session that does not. */
export interface Comfy {
  readonly options: SettledOptions;
  readonly files: Files;
  readonly faults: FaultBox;
  readonly ledger: Ledger;
  models: SettledOptions["models"];
  missingClasses: ReadonlySet<string>;
  session: Session;
  /** Ends the wait of each held node. */
  readonly held: Set<() => void>;
}
