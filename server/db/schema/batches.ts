import {
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { sql } from "drizzle-orm";
import type { InputRole } from "../../engines.ts";
import { users } from "./accounts.ts";
import { jobs } from "./jobs.ts";
import type { PromptTemplate } from "./presets.ts";

const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** A member of the request that differs from job to job: a param by its name, `inputs.<role>`, or one of `chosenMembers`. */
interface BatchAxisMember {
  readonly param: string;
  readonly values: readonly (string | number | boolean)[];
}

export interface BatchAxis extends BatchAxisMember {
  /** Words of the prompts whose place the values take. */
  readonly replaces?: string | undefined;
  /** Members that vary with it, each with as many values. */
  readonly along?: readonly BatchAxisMember[] | undefined;
}

/** Jobs that were asked for together; server/batches/index.ts says how its state follows from them. */
export const batches = pgTable(
  "batches",
  {
    id: uuid("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    title: text("title"),
    /** Null for a batch that came as a list of jobs. The last axis varies fastest. */
    axes: jsonb("axes").$type<readonly BatchAxis[]>(),
    /** Number of jobs that were accepted. */
    size: smallint("size").notNull(),
    /** The most that all of them could cost when they were accepted, US dollars; null where one had no known price. */
    maxPriceUsd: doublePrecision("max_price_usd"),
    webhookUrl: text("webhook_url"),
    /** Raised when jobs of an ended batch run again, since it then ends once more. */
    round: integer("round").notNull().default(1),
    createdAt: at("created_at").notNull().defaultNow(),
    /** Set by a trigger with the end of the last open job. */
    endedAt: at("ended_at"),
    /** Removed with its results; it can be taken back for `retention.undoDeleteMs`. */
    deletedAt: at("deleted_at"),
  },
  (table) => [index("batches_owner").on(table.ownerId, table.id)],
);

/** The places of a batch. A job that runs again takes the place of the failed one; that of a removed job is empty. */
export const batchJobs = pgTable(
  "batch_jobs",
  {
    batchId: uuid("batch_id")
      .notNull()
      .references(() => batches.id, { onDelete: "cascade" }),
    /** From 0. */
    position: smallint("position").notNull(),
    jobId: uuid("job_id")
      .notNull()
      .references(() => jobs.id, { onDelete: "cascade" }),
  },
  (table) => [
    primaryKey({ columns: [table.batchId, table.position] }),
    uniqueIndex("batch_jobs_job").on(table.jobId),
  ],
);

/**
 * What runs on at a place of a batch, each with the result of the job before as its first picture. Of a place whose job has
 * completed, the first step that has not begun is due, unless the place was stopped.
 */
export const batchSteps = pgTable(
  "batch_steps",
  {
    batchId: uuid("batch_id")
      .notNull()
      .references(() => batches.id, { onDelete: "cascade" }),
    /** Of the place. */
    position: smallint("position").notNull(),
    /** From 1. */
    number: smallint("number").notNull(),
    /** As a submit takes it, with what was agreed, without its first picture. */
    request: jsonb("request").$type<Readonly<Record<string, unknown>>>().notNull(),
    /** What its prompts were drawn from; null where they are as they were written. */
    template: jsonb("template").$type<PromptTemplate>(),
    /** The input that gets the result of the job before. */
    role: text("role").$type<InputRole>().notNull(),
    /** The most that it could cost when the batch was accepted, US dollars; null where its price was not known. */
    maxPriceUsd: doublePrecision("max_price_usd"),
    /** The job whose result it took; what it made itself is in the place, or in the source of the next step. */
    sourceJobId: uuid("source_job_id").references(() => jobs.id, { onDelete: "set null" }),
    begunAt: at("begun_at"),
    /** Why the place goes on no more: `cancelled`, or the code and message of a refusal; null again when it is tried anew. */
    stoppedCode: text("stopped_code"),
    stoppedMessage: text("stopped_message"),
  },
  (table) => [
    primaryKey({ columns: [table.batchId, table.position, table.number] }),
    index("batch_steps_left")
      .on(table.batchId, table.position, table.number)
      .where(sql`${table.begunAt} is null and ${table.stoppedCode} is null`),
    index("batch_steps_source").on(table.sourceJobId),
  ],
);
