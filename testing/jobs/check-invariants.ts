import { schema } from "@atelier/server/db";
import { sweepOrphanObjects } from "@atelier/server/images";
import type { Services } from "@atelier/server/services";
import { listObjects } from "@atelier/server/storage";
import { sql } from "drizzle-orm";

const filesPerImage = 3;

/**
 * What must hold after any fault (R5); returns what is wrong, empty when all is well: revision and story go together,
 * a completed job has exactly one result, a job that did not complete has none, each row has its objects, and after
 * a sweep with no patience no object is left without a row.
 */
export async function findBrokenInvariants(services: Services): Promise<string[]> {
  const { jobs, jobEvents, jobOutputs, images } = schema;
  const broken = await services.db.execute<{ fault: string }>(sql`
    select 'story of ' || j.id || ' has ' || count(e.revision) || ' lines at revision ' || j.revision as fault
      from ${jobs} j left join ${jobEvents} e on e.job_id = j.id group by j.id
      having count(e.revision) <> j.revision or max(e.revision) <> j.revision
    union all
    select j.id || ' is ' || j.status || ' with ' || count(o.image_id) || ' results'
      from ${jobs} j left join ${jobOutputs} o on o.job_id = j.id group by j.id
      having count(o.image_id) <> case when j.status = 'completed' then 1 else 0 end
    union all
    select 'result ' || i.id || ' belongs to no job' from ${images} i
      where i.role = 'result' and not exists (select 1 from ${jobOutputs} o where o.image_id = i.id)
    union all
    select 'the last line of ' || j.id || ' says ' || e.status || ', the row ' || j.status
      from ${jobs} j join ${jobEvents} e on e.job_id = j.id and e.revision = j.revision where e.status <> j.status`);
  return [...broken.map((row) => row.fault), ...(await findBrokenObjects(services))];
}

async function findBrokenObjects(services: Services): Promise<string[]> {
  const retention = { ...services.config.retention, orphanObjectMs: -60_000 };
  await sweepOrphanObjects({ ...services, config: { ...services.config, retention } });
  const keys: string[] = [];
  for (const root of ["users", "jobs"])
    for await (const page of listObjects(services.disk, root)) keys.push(...page.map(({ key }) => key));
  const rows = await services.db.select({ key: schema.images.storageKey }).from(schema.images);
  const faults = rows.flatMap(({ key }) => {
    const found = keys.filter((object) => object.startsWith(`${key}/`)).length;
    return found === filesPerImage ? [] : [`${key} has ${found} objects`];
  });
  const known = new Set(rows.map((row) => row.key));
  const orphans = keys.filter((key) => !known.has(key.slice(0, key.lastIndexOf("/"))));
  return [...faults, ...orphans.map((key) => `${key} has no row`)];
}
