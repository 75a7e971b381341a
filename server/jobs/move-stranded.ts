import { inArray, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { chooseQueue, livePlaces } from "../scheduling/index.ts";
import type { Services } from "../services/index.ts";
import type { JobKind } from "../engines/index.ts";
import { hint } from "./hint.ts";
import { amendAll, transitionAll } from "./transition.ts";

/**
 * Places waiting jobs anew when their queue has no live node that can run them but another has. Queued rows go
 * back to the line first, so that only the fair pick lets them out.
 */
export async function moveStranded(services: Services): Promise<void> {
  const places = await livePlaces(services.db);
  if (places.length === 0) return;
  const { jobs } = schema;
  const waiting = await services.db
    .selectDistinct({ queue: jobs.queue, kind: jobs.kind })
    .from(jobs)
    .where(inArray(jobs.status, ["pending", "queued"]));
  for (const { queue, kind } of waiting) {
    if (places.some((place) => place.queue === queue && place.kind === kind)) continue;
    if (!places.some((place) => place.kind === kind)) continue;
    await move(services, { from: queue, kind });
  }
}

async function move(services: Services, { from, kind }: { from: string; kind: JobKind }): Promise<void> {
  const to = await chooseQueue(services.db, services.config, kind);
  const here = sql`queue = ${from} and kind = ${kind}`;
  await transitionAll(services.db, {
    from: ["queued"],
    to: "pending",
    where: here,
    event: "requeued",
    data: { from },
  });
  const moved = await amendAll(services.db, {
    where: sql`${here} and status = 'pending'`,
    set: { queue: to },
    event: "moved",
    data: { from, to },
  });
  hint(services, moved);
  services.log.info(
    { from, to, kind, count: moved.length },
    "waiting jobs moved to a queue with a live node",
  );
}
