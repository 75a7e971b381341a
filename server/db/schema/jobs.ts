import { sql } from "drizzle-orm";
import {
  boolean,
  check,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  real,
  smallint,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import type { EngineName, InputRole, JobKind, Need } from "../../engines.ts";
import type { ErrorCode } from "../../platform/index.ts";
import { users } from "./accounts.ts";
import { images } from "./images.ts";
import type { Agreed, Estimate, Placement } from "./placement.ts";
import type { PromptTemplate } from "./presets.ts";

const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** The job is in line; no node has it. */
export const waitingStatuses = ["pending", "queued"] as const;
/** A node has the job. */
export const claimedStatuses = ["waiting_for_engine", "processing"] as const;
export const openStatuses = [...waitingStatuses, ...claimedStatuses] as const;
/** The job never changes again. */
export const finalStatuses = ["completed", "failed", "cancelled"] as const;
export const jobStatuses = [...openStatuses, ...finalStatuses] as const;
export type JobStatus = (typeof jobStatuses)[number];

/** 3 is the most urgent; stored as a number so that the fair pick can sort by it. */
export const tiers = { low: 0, normal: 1, high: 2, urgent: 3 } as const;
export type Tier = keyof typeof tiers;
export type Retention = "keep" | "ephemeral";

/** Begins the session id of the jobs of a task of MCP; the id of the task follows. */
export const taskMark = "mcp:task:";

/** A job is a row; see docs/architecture.md for its statuses. server/jobs/index.ts says who writes `status`. */
export const jobs = pgTable(
  "jobs",
  {
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "restrict" }),
    kind: text("kind").$type<JobKind>().notNull(),
    status: text("status").$type<JobStatus>().notNull(),
    tier: integer("tier").notNull(),
    params: jsonb("params").$type<Record<string, unknown>>().notNull(),
    /** What the prompts in `params` were made from; null where they are as they were written. */
    template: jsonb("template").$type<PromptTemplate>(),
    queue: text("queue").notNull(),
    engine: text("engine").$type<EngineName>().notNull(),
    workflow: text("workflow"),
    /** Model of a provider; null for own engines. */
    model: text("model"),
    /** The pictures must not leave the studio's own machines. */
    ownOnly: boolean("own_only").notNull().default(false),
    /** Null where the request named no bounds: the policy and the caps alone decide. */
    agreed: jsonb("agreed").$type<Agreed>(),
    /** The request to a provider that has the job; then no node holds it, and no sweep takes it back. */
    providerAttemptId: uuid("provider_attempt_id"),
    /** What a node must offer to run it; follows from engine, kind and workflow. */
    need: text("need").$type<Need>().notNull(),
    /** The chosen place, and the reasons. */
    placement: jsonb("placement").$type<Placement>(),
    /** The estimate at submit. */
    estimate: jsonb("estimate").$type<Estimate>(),
    /** Size of the run for comparing with past ones: 2 * log2 of megapixels times steps, rounded. */
    sizeClass: smallint("size_class").notNull().default(0),
    /** Order within the owner's own share of the line, the smallest first; epoch ms of the submit at first. */
    ownerOrder: doublePrecision("owner_order")
      .notNull()
      .default(sql`extract(epoch from clock_timestamp()) * 1000`),
    /** Number of input pictures; fewer links mean that a picture was purged. */
    inputCount: smallint("input_count").notNull().default(0),
    /** Server of the last attempt, and its prompt id there: a later attempt adopts that run. */
    server: text("server"),
    externalId: text("external_id"),
    /** Addresses of servers where it failed for a reason that may not exist on other servers. */
    avoid: text("avoid")
      .array()
      .notNull()
      .default(sql`'{}'`),
    retention: text("retention").$type<Retention>().notNull().default("keep"),
    /** Raised by every change; orders the changes of one job. */
    revision: integer("revision").notNull().default(1),
    /** Raised by every claim; writes of an earlier attempt are refused. */
    attempt: integer("attempt").notNull().default(0),
    /** Number of attempts that count against the job. */
    charged: integer("charged").notNull().default(0),
    /** Set when a worker died while it ran the job: the next attempt runs alone on its node. */
    runAlone: boolean("run_alone").notNull().default(false),
    /** A failed attempt ends the job, whatever the error. */
    once: boolean("once").notNull().default(false),
    ring: integer("ring").notNull().default(0),
    rungAt: at("rung_at"),
    notBefore: at("not_before"),
    nodeId: uuid("node_id"),
    progress: real("progress").notNull().default(0),
    stage: text("stage"),
    errorCode: text("error_code").$type<ErrorCode>(),
    errorMessage: text("error_message"),
    errorDetails: jsonb("error_details").$type<Record<string, unknown>>(),
    /** Facts that the engine reports about its run (scores, times in ms). */
    facts: jsonb("facts").$type<Record<string, unknown>>(),
    retryOf: uuid("retry_of"),
    retryNumber: integer("retry_number"),
    /** Charged attempts after the first that the client allows; null: `limits.maxCharged` alone decides. */
    maxRetries: smallint("max_retries"),
    /** The client's own mark for jobs that belong together. */
    sessionId: text("session_id"),
    /** Free JSON of the client; null when the request had none. */
    metadata: jsonb("metadata").$type<Record<string, unknown>>(),
    /** Id of the HTTP request that submitted the job. */
    requestId: text("request_id"),
    /** The API key that sent it, also after it was revoked; null: a session. Its cap holds for what the job buys. */
    apiKeyId: text("api_key_id"),
    /** The span that accepted the job, as W3C `traceparent`; null while nothing is traced. */
    traceparent: text("traceparent"),
    cancelRequestedAt: at("cancel_requested_at"),
    createdAt: at("created_at").notNull().defaultNow(),
    queuedAt: at("queued_at"),
    claimedAt: at("claimed_at"),
    startedAt: at("started_at"),
    endedAt: at("ended_at"),
    /** When an ephemeral job's complete answer was handed out, and when it was acknowledged. */
    answeredAt: at("answered_at"),
    ackedAt: at("acked_at"),
  },
  (table) => [
    index("jobs_line")
      .on(table.queue, table.tier, table.ownerId, table.ownerOrder, table.id)
      .where(sql`${table.status} = 'pending'`),
    /** Pending rows that were claimed before: some of them leave the line first. */
    index("jobs_line_tried")
      .on(table.queue, table.id)
      .where(sql`${table.status} = 'pending' and ${table.attempt} > 0`),
    index("jobs_window")
      .on(table.queue, table.queuedAt)
      .where(sql`${table.status} = 'queued'`),
    index("jobs_claimed")
      .on(table.nodeId)
      .where(sql`${table.status} in ('waiting_for_engine', 'processing')`),
    index("jobs_open_by_owner")
      .on(table.ownerId, table.id)
      .where(sql`${table.status} in ('pending', 'queued', 'waiting_for_engine', 'processing')`),
    index("jobs_owner").on(table.ownerId, table.id),
    index("jobs_owner_ended").on(table.ownerId, table.endedAt),
    index("jobs_runs")
      .on(table.need, table.endedAt)
      .where(sql`${table.status} = 'completed'`),
    index("jobs_ended").on(table.endedAt),
    index("jobs_unfinished")
      .on(table.status, table.id)
      .where(sql`${table.status} in ('failed', 'cancelled')`),
    uniqueIndex("jobs_retry").on(table.retryOf, table.retryNumber),
    index("jobs_session")
      .on(table.sessionId, table.id)
      .where(sql`${table.sessionId} is not null`),
    /** Statements must name the mark as a literal, too: a parameter does not match the condition. */
    index("jobs_tasks")
      .on(table.ownerId, table.sessionId)
      .where(sql`starts_with(${table.sessionId}, ${sql.raw(`'${taskMark}'`)})`),
    index("jobs_ephemeral")
      .on(table.endedAt)
      .where(sql`${table.retention} = 'ephemeral'`),
  ],
);

export const jobInputs = pgTable(
  "job_inputs",
  {
    jobId: uuid("job_id")
      .notNull()
      .references(() => jobs.id, { onDelete: "cascade" }),
    role: text("role").$type<InputRole>().notNull(),
    imageId: uuid("image_id")
      .notNull()
      .references(() => images.id, { onDelete: "restrict" }),
  },
  (table) => [
    primaryKey({ columns: [table.jobId, table.role] }),
    index("job_inputs_image").on(table.imageId),
  ],
);

export const jobOutputs = pgTable(
  "job_outputs",
  {
    jobId: uuid("job_id")
      .notNull()
      .references(() => jobs.id, { onDelete: "cascade" }),
    position: integer("position").notNull(),
    imageId: uuid("image_id")
      .notNull()
      .references(() => images.id, { onDelete: "cascade" }),
  },
  (table) => [
    primaryKey({ columns: [table.jobId, table.position] }),
    index("job_outputs_image").on(table.imageId),
  ],
);

/** The story of a job: one row per revision. */
export const jobEvents = pgTable(
  "job_events",
  {
    jobId: uuid("job_id")
      .notNull()
      .references(() => jobs.id, { onDelete: "cascade" }),
    revision: integer("revision").notNull(),
    type: text("type").notNull(),
    status: text("status").$type<JobStatus>().notNull(),
    data: jsonb("data").$type<Record<string, unknown>>().notNull().default({}),
    createdAt: at("created_at")
      .notNull()
      .default(sql`clock_timestamp()`),
  },
  (table) => [
    primaryKey({ columns: [table.jobId, table.revision] }),
    index("job_events_age").on(table.createdAt),
  ],
);

/** Outlives its job, so that a repeated request never runs twice. */
export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    key: text("key").notNull(),
    requestSha256: text("request_sha256").notNull(),
    /** Of the job; for a key that begins with `batch:` of the batch, with `ask:` of the run of the question, with `cancelled:` of nothing. */
    jobId: uuid("job_id").notNull(),
    createdAt: at("created_at").notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.ownerId, table.key] }),
    check("idempotency_keys_key_length", sql`char_length(${table.key}) <= 300`),
  ],
);

/** When each owner was last served in a queue: the fair pick takes the owner who was served longest ago. */
export const queueTurns = pgTable(
  "queue_turns",
  {
    queue: text("queue").notNull(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    servedAt: timestamp("served_at", { withTimezone: true }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.queue, table.ownerId] })],
);
