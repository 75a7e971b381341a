import { sql } from "drizzle-orm";
import {
  check,
  index,
  json,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";

/** Levels of the log lines that are stored with a job. */
export type JobLogLevel = "info" | "warn" | "error" | "fatal";

/** Log lines kept of one job. */
export const maxJobLogs = 200;

/**
 * Log lines that name a job. Without a foreign key, whose share lock on the job would make a claim pass over the row at
 * that moment; a trigger removes the lines of removed jobs.
 */
export const jobLogs = pgTable(
  "job_logs",
  {
    jobId: uuid("job_id").notNull(),
    /** 1 for the first line of the job. */
    number: smallint("number").notNull(),
    level: text("level").$type<JobLogLevel>().notNull(),
    /** Name of the process that wrote it: `web`, `worker`. */
    process: text("process").notNull(),
    nodeId: uuid("node_id"),
    message: text("message").notNull(),
    data: json("data").$type<Record<string, unknown>>().notNull(),
    createdAt: timestamp("created_at", { withTimezone: true, precision: 3 }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.jobId, table.number] }),
    index("job_logs_age").on(table.createdAt),
    check("job_logs_number", sql.raw(`"number" between 1 and ${maxJobLogs}`)),
  ],
);
