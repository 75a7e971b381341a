import type { Logger as PinoLogger } from "pino";
import type { Db } from "../db/index.ts";
import type { Config, Env } from "../platform/index.ts";
import type { Bells, Hints } from "../queue/index.ts";
import type { Disk } from "../storage/index.ts";

/** What a process holds open; verbs take it as their first argument. */
export interface Services {
  readonly env: Env;
  readonly config: Config;
  readonly log: PinoLogger;
  readonly db: Db;
  readonly disk: Disk;
  readonly bells: Bells;
  readonly hints: Hints;
  close(): Promise<void>;
}
