export {
  openDatabase,
  sessionLimits,
  type Database,
  type DatabaseOptions,
  type Db,
  type Tx,
} from "./client.ts";
export { inTurn } from "./in-turn.ts";
export { isDatabaseAway } from "./is-database-away.ts";
export { probeDatabase } from "./probe-database.ts";
export { migrate } from "./migrate.ts";
export * as schema from "./schema/index.ts";
export {
  jobStatuses,
  tiers,
  type Estimate,
  type Gpu,
  type ImageRole,
  type JobStatus,
  type NodeCapability,
  type NodeProblem,
  type NodeSettings,
  type NodeState,
  type Asked,
  type Placement,
  type PlaceWeighed,
  type Retention,
  type ServerState,
  type Tier,
} from "./schema/index.ts";
