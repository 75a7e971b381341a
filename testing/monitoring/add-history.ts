import type { Services } from "@atelier/server/services";
import { sql } from "drizzle-orm";

export interface History {
  readonly jobs: number;
  /** How far back the first of them was asked for. */
  readonly days: number;
  readonly ownerIds: readonly string[];
  readonly queues?: readonly string[];
}

const chunk = 50_000;

/**
 * Adds ended jobs spread evenly over the past, the last one a moment ago: of a hundred four failed for five causes and
 * two were cancelled; each had been told a waiting time.
 */
export async function addHistory({ db }: Pick<Services, "db">, history: History): Promise<void> {
  const { jobs, days, ownerIds, queues = ["cpu-light", "gpu-medium", "gpu-high"] } = history;
  const list = (texts: readonly string[]) =>
    sql`(array[${sql.join(
      texts.map((text) => sql`${text}`),
      sql`, `,
    )}]::text[])`;
  for (let from = 0; from < jobs; from += chunk) {
    await db.execute(sql`
      insert into jobs (id, owner_id, kind, status, tier, params, queue, engine, workflow, need, placement, estimate, size_class,
        owner_order, attempt, charged, revision, server, error_code, error_message, facts, created_at, queued_at, claimed_at, started_at, ended_at, progress)
      select (lpad(to_hex((extract(epoch from t) * 1000)::bigint), 12, '0') || '7' || substr(h, 1, 3) || '8' || substr(h, 4, 15))::uuid,
        ${list(ownerIds)}[1 + i % ${ownerIds.length}], 'text_to_image', status, 1,
        jsonb_build_object('prompt', 'a ' || h || ' on a table, soft light, 50 mm', 'seed', i, 'steps', 20, 'width', 1024, 'height', 1024),
        ${list(queues)}[1 + i % ${queues.length}], 'comfyui', 'sdxl', 'comfyui/sdxl',
        '{"chosen":{"queue":"gpu-high","need":"comfyui/sdxl"},"isLive":true,"weighed":[{"queue":"gpu-high","need":"comfyui/sdxl","waitS":4,"refused":null}]}',
        jsonb_build_object('position', i % 5, 'waitMs', jsonb_build_array(0, 4000 + i % 9000), 'runMs', jsonb_build_array(5000, 20000), 'runs', 50),
        8, 0, 1, case when status = 'failed' then 1 else 0 end, 6, 'http://gpu-' || i % 4 || ':8188',
        case when status = 'failed' then (array['gpu_out_of_memory', 'server_lost', 'engine_failed', 'engine_timeout', 'model_missing'])[1 + i / 25 % 5] end,
        case when status = 'failed' then 'The server said no.' end, '{"stepMs": 120}',
        t, t + wait * 0.9, t + wait, case when status <> 'cancelled' then t + wait end, t + wait + run, 1
      from (
        select i, md5(i::text) as h, now() - make_interval(secs => ${days} * 86400.0 * (${jobs} - i) / ${jobs}) as t,
          make_interval(secs => 1 + i % 7) as wait, make_interval(secs => 3 + i % 20) as run,
          case when i % 25 = 24 then 'failed' when i % 50 = 1 then 'cancelled' else 'completed' end as status
        from generate_series(${from}::int, ${Math.min(jobs, from + chunk) - 1}::int) i
      ) made where t + wait + run < now()`);
  }
  await db.execute(sql`analyze jobs`);
}
