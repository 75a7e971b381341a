import { sql, type SQL } from "drizzle-orm";
import { schema, tiers, type Db, type Tier, type Tx } from "../db/index.ts";
import { jobFromRow, type Job } from "./job.ts";
import type { JobOutputView, JobView } from "./read.ts";
import { serverLabel } from "./server-label.ts";

const tierNames = new Map<number, Tier>(Object.entries(tiers).map(([name, value]) => [value, name as Tier]));

interface Extras {
  readonly node_name: string | null;
  readonly input_links: JobView["inputs"] | null;
  readonly output_links: JobOutputView[] | null;
}

/** Reads jobs with their pictures and node in one statement, in the order of `tail`. */
export async function loadViews(
  db: Db | Tx,
  where: SQL,
  tail: SQL = sql`order by jobs.id desc`,
): Promise<JobView[]> {
  const { jobs, jobInputs, jobOutputs, images, nodes } = schema;
  const result = await db.execute<Record<string, unknown> & Extras>(sql`
    select jobs.*, n.name as node_name,
      (select json_agg(json_build_object('role', i.role, 'imageId', i.image_id)) from ${jobInputs} i where i.job_id = jobs.id) as input_links,
      (select json_agg(json_build_object('imageId', m.id, 'widthPx', m.width_px, 'heightPx', m.height_px, 'thumbhash', m.thumbhash) order by o.position)
        from ${jobOutputs} o join ${images} m on m.id = o.image_id where o.job_id = jobs.id and m.deleted_at is null) as output_links
    from ${jobs} jobs left join ${nodes} n on n.id = jobs.node_id
    where ${where} ${tail}`);
  return result.rows.map((row) => toView(jobFromRow(row), row));
}

function toView(job: Job, extras: Extras): JobView {
  const time = (at: Date | null) => at?.toISOString() ?? null;
  return {
    id: job.id,
    kind: job.kind,
    status: job.status,
    progress: job.progress,
    stage: job.stage,
    tier: tierNames.get(job.tier) ?? "normal",
    revision: job.revision,
    attempt: job.attempt,
    engine: job.engine,
    workflow: job.workflow,
    need: job.need,
    queue: job.queue,
    node: extras.node_name,
    server: job.server === null ? null : serverLabel(job.server),
    placement: job.placement,
    estimate: job.estimate,
    charged: job.charged,
    notBefore: time(job.notBefore),
    retention: job.retention,
    params: job.params,
    error: job.errorCode ? { code: job.errorCode, message: job.errorMessage ?? "" } : null,
    cancelRequested: job.cancelRequestedAt !== null,
    retryOf: job.retryOf,
    inputs: extras.input_links ?? [],
    outputs: extras.output_links ?? [],
    createdAt: job.createdAt.toISOString(),
    queuedAt: time(job.queuedAt),
    claimedAt: time(job.claimedAt),
    startedAt: time(job.startedAt),
    endedAt: time(job.endedAt),
  };
}
