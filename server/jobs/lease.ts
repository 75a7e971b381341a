import { sql, type SQL } from "drizzle-orm";
import { schema } from "../db/index.ts";

/** What a worker holds of a job: it fences every later write of that worker. */
export interface Lease {
  readonly jobId: string;
  readonly attempt: number;
  readonly nodeId: string;
}

/** True in SQL only while the lease is the current one: a late worker matches nothing. */
export function heldBy({ jobId, attempt, nodeId }: Lease): SQL {
  const { id, attempt: attemptColumn, nodeId: nodeColumn } = schema.jobs;
  return sql`${id} = ${jobId} and ${attemptColumn} = ${attempt} and ${nodeColumn} = ${nodeId}`;
}
