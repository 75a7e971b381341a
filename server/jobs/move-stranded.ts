import { inArray, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Need } from "../engines/index.ts";
import { isGpuQueue, livePlaces, readPlaces } from "../scheduling/index.ts";
import type { Services } from "../services/index.ts";
import { lockLine } from "./dispatch.ts";
import { hint } from "./hint.ts";
import { amendAll, transitionAll } from "./transition.ts";

/**
 * Places waiting jobs anew when their queue has no live node that can serve their need but another queue of the same
 * class of hardware has; from cards to the CPU nothing moves unasked: servers are away for moments. Queued
 * rows go back to the line first, so that only the fair pick lets them out.
 */
export async function moveStranded(services: Services): Promise<void> {
  const live = await livePlaces(services.db);
  if (live.length === 0) return;
  const { jobs } = schema;
  const waiting = await services.db
    .selectDistinct({ queue: jobs.queue, need: jobs.need })
    .from(jobs)
    .where(inArray(jobs.status, ["pending", "queued"]));
  for (const { queue, need } of waiting) {
    const own = live.filter((place) => place.need === need);
    if (!own.some((place) => place.queue === queue)) await move(services, { from: queue, need });
  }
}

async function move(services: Services, { from, need }: { from: string; need: Need }): Promise<void> {
  const { db, config } = services;
  const isGpu = isGpuQueue(config, from);
  const places = (await readPlaces(db, [need])).filter(
    (place) => place.slots > 0 && isGpuQueue(config, place.queue) === isGpu,
  );
  const to = places.toSorted((a, b) => a.workMs / a.slots - b.workMs / b.slots)[0]?.queue;
  if (to === undefined) return;
  const { jobs } = schema;
  const here = sql`queue = ${from} and need = ${need}`;
  const moved = await db.transaction(async (tx) => {
    await lockLine(tx, from);
    // Both statements below change them: locked at once, in the order of every other statement about several jobs.
    await tx.execute(
      sql`select id from ${jobs} where ${here} and status in ('pending', 'queued') order by id for update`,
    );
    await transitionAll(tx, {
      from: ["queued"],
      to: "pending",
      where: here,
      event: "requeued",
      data: { from },
    });
    return amendAll(tx, {
      where: sql`${here} and status = 'pending'`,
      set: { queue: to, placement: sql`jsonb_set(placement, '{chosen,queue}', to_jsonb(${to}::text))` },
      event: "moved",
      data: { from, to },
    });
  });
  hint(services, moved);
  services.log.info(
    { from, to, need, count: moved.length },
    "waiting jobs moved to a queue with a live node",
  );
}
