import { sql } from "drizzle-orm";
import { lockTopic, schema, type Tx } from "../db/index.ts";
import { AppError, isId, oneAtATime } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { amend, hint } from "./job.ts";

export interface MoveInLine {
  readonly ownerId: string;
  readonly id: string;
  /** The waiting job of the same owner that will come next; null for the end. */
  readonly before: string | null;
}

/**
 * Moves a waiting job within its owner's share of the line; the turns of other owners do not change. Throws `not_found`,
 * and `conflict` when one of the two jobs no longer waits or they wait in different lines.
 */
export async function moveInLine(services: Services, { ownerId, id, before }: MoveInLine): Promise<void> {
  if (!isId(id) || (before !== null && !isId(before))) throw new AppError("not_found");
  const move = async (tx: Tx) => {
    // One reorder per owner at a time: each must read the order that the last one wrote.
    await lockTopic(tx, "reorder", ownerId);
    const ownerOrder = await findOrder(tx, { ownerId, id, before });
    return amend(tx, {
      where: sql`id = ${id} and owner_id = ${ownerId} and status = 'pending'`,
      set: { ownerOrder },
      event: "reordered",
      data: { before },
    });
  };
  const moved = await oneAtATime(`reorder of ${ownerId}`, () => services.db.transaction(move));
  if (!moved) throw new AppError("conflict", "The job is no longer in the line.");
  hint(services, [moved]);
}

/** An order between the two new neighbours; when no number is left between them, the share is renumbered. */
async function findOrder(tx: Tx, { ownerId, id, before }: MoveInLine): Promise<number> {
  const { jobs } = schema;
  const result = await tx.execute<{ id: string; order: number }>(sql`
    select line.id, line.owner_order as "order" from ${jobs} line, ${jobs} own
    where own.id = ${id} and own.owner_id = ${ownerId} and own.status = 'pending' and line.owner_id = ${ownerId}
      and line.status = 'pending' and line.queue = own.queue and line.tier = own.tier
    order by line.owner_order, line.id`);
  if (!result.some((row) => row.id === id)) {
    const known = await tx.execute(sql`select 1 from ${jobs} where id = ${id} and owner_id = ${ownerId}`);
    throw new AppError(known.length > 0 ? "conflict" : "not_found");
  }
  const line = result.filter((row) => row.id !== id);
  const at = before === null ? line.length : line.findIndex((row) => row.id === before);
  if (at < 0) throw new AppError("conflict", "The two jobs do not wait in the same line.");
  const low = line[at - 1]?.order;
  const high = line[at]?.order;
  if (low === undefined) return (high ?? 0) - 1;
  if (high === undefined) return low + 1;
  const middle = (low + high) / 2;
  if (middle > low && middle < high) return middle;
  await renumber(
    tx,
    line.map((row) => row.id),
  );
  return at - 0.5;
}

/** The order itself does not change, so no revision is raised. */
async function renumber(tx: Tx, ids: readonly string[]): Promise<void> {
  const { jobs } = schema;
  await tx.execute(sql`
    update ${jobs} set owner_order = line.position - 1
    from unnest(${sql.param([...ids])}::uuid[]) with ordinality as line(id, position)
    where ${jobs.id} = line.id and ${jobs.status} = 'pending'`);
}
