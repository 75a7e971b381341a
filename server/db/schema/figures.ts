import { integer, pgTable, primaryKey, smallint, text, timestamp } from "drizzle-orm/pg-core";

/**
 * Figures of ended jobs by hour, so that charts over days do not read the jobs. Each hour is summed after its end; see
 * server/monitoring.
 */
export const jobFigures = pgTable(
  "job_figures",
  {
    /** Start of the hour. */
    at: timestamp("at", { withTimezone: true }).notNull(),
    queue: text("queue").notNull(),
    /** `completed`, `cancelled`, `failed/<code>`, or the name of a histogram: `wait`, `run`, `error`. */
    measure: text("measure").notNull(),
    /** Bucket of a histogram, log-spaced; 0 for plain counts. */
    bucket: smallint("bucket").notNull().default(0),
    count: integer("count").notNull(),
  },
  (table) => [primaryKey({ columns: [table.at, table.queue, table.measure, table.bucket] })],
);

/** End of the hours that are summed. Its row is the lock between the roll-up and the removal of an ended job. */
export const figureMarks = pgTable("figure_marks", {
  name: text("name").primaryKey(),
  until: timestamp("until", { withTimezone: true }).notNull(),
});
