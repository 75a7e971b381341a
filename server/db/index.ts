/**
 * PostgreSQL: the pool, the schema, the migrations.
 *
 * `Db` is the pool, `Tx` a transaction. Transactions that take the same lock run in `oneAtATime` (`../platform`).
 * Only tables and connections here: a query belongs to the folder that owns its rows.
 */
export {
  openDatabase,
  type Database,
  type DatabaseOptions,
  type Db,
  type Tx,
  isDatabaseAway,
  findSchemaMismatch,
  probeDatabase,
} from "./client.ts";
export { deleteInBatches } from "./delete-batches.ts";
export { latestFirst, toPage } from "./latest-first.ts";
export { lockTopic } from "./lock-topic.ts";
export { rowReader } from "./row-reader.ts";
export { countProcesses } from "./processes.ts";
export { sessionLimits } from "./session.ts";
export { ago, duration, fromNow, missedSince, surelyAgo, unseenMs } from "./time.ts";
export { appliedMigrations, knownMigrations, migrate, migrateTo } from "./migrate.ts";
export { type Load, type Snapshot, type TableShape, withLoad, withSnapshot } from "./copy.ts";
export * as schema from "./schema/index.ts";
export {
  type AccountNotice,
  noticeKinds,
  channelNames,
  type ChannelName,
  jobStatuses,
  claimedStatuses,
  endedQuestionStatuses,
  finalStatuses,
  openStatuses,
  waitingStatuses,
  maxJobLogs,
  taskMark,
  tiers,
  type Estimate,
  type Gpu,
  type DescribedBy,
  type ImageRole,
  type JobLogLevel,
  type JobStatus,
  type NodeCapability,
  type NodeProblem,
  type NodeSettings,
  type NodeState,
  type Agreed,
  type PresetContents,
  type PresetType,
  type PromptTemplate,
  type StyleParts,
  type Checkup,
  type Asked,
  type AttemptState,
  capPeriods,
  type CapPeriod,
  cloudPolicies,
  type CloudPolicy,
  type PlacedBecause,
  type Placement,
  type WeighedPlace,
  type AnswerPart,
  type BatchAxis,
  promptRoles,
  type PromptRole,
  type QuestionAnalysis,
  type QuestionContext,
  type QuestionStatus,
  type Retention,
  type ServerState,
  type Tier,
} from "./schema/index.ts";
