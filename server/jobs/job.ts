import { getTableColumns } from "drizzle-orm";
import { schema } from "../db/index.ts";

export type Job = typeof schema.jobs.$inferSelect;

const columns = Object.entries(getTableColumns(schema.jobs));

/** Reads a row of `jobs` that came back from a hand-written statement. */
export function jobFromRow(row: Record<string, unknown>): Job {
  const entries = columns.map(([name, column]) => {
    const value = row[column.name];
    return [name, value === null || value === undefined ? null : column.mapFromDriverValue(value)];
  });
  // Safe: every column of the table is read by its own mapping, so the result has the table's shape.
  return Object.fromEntries(entries) as Job;
}
