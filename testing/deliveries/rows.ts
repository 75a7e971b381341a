import { and, asc, eq, isNotNull, isNull } from "drizzle-orm";
import { schema } from "@atelier/server/db";
import { createEndpoint } from "@atelier/server/deliveries";
import { claim, complete } from "@atelier/server/jobs";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { addJob, addNode, localOffers, type TestOwner } from "../jobs/index.ts";

/** Registers an endpoint of the owner at the address. */
export async function addEndpoint(services: Services, owner: TestOwner, url: string) {
  return createEndpoint(services, { ownerId: owner.userId, url });
}

/** Runs a job of the owner to its end, and returns its id. */
export async function oweCompleted(services: Services, owner: TestOwner): Promise<string> {
  const queue = `queue-${newId()}`;
  const nodeId = await addNode(services, { queue });
  await addJob(services, { owner, queue });
  const job = await claim(services, { nodeId, queue, offers: localOffers });
  if (!job) throw new Error("the job was not claimed");
  await complete(services, {
    lease: { jobId: job.id, attempt: job.attempt, nodeId },
    outputs: [],
    facts: {},
  });
  return job.id;
}

/** The only delivery of a job. */
export async function readDelivery({ db }: Pick<Services, "db">, jobId: string) {
  const { deliveries } = schema;
  const [row] = await db.select().from(deliveries).where(eq(deliveries.jobId, jobId));
  if (!row) throw new Error(`nothing is owed for job ${jobId}`);
  return row;
}

/** Environment of a studio that owes e-mail, which nobody sends. */
export const noMailServer = { SMTP_URL: "smtp://127.0.0.1:1", SMTP_FROM: "atelier@example.test" } as const;

/** What a user is owed messages about: changes of the account, the oldest first. */
export async function readNotices({ db }: Pick<Services, "db">, ownerId: string) {
  const { deliveries } = schema;
  const isNotice = and(eq(deliveries.ownerId, ownerId), isNotNull(deliveries.notice));
  const rows = await db.select().from(deliveries).where(isNotice).orderBy(asc(deliveries.nextAttemptAt));
  return rows.map(({ notice }) => notice?.what);
}

/** How many deliveries of an owner are not delivered. */
export function countUndelivered({ db }: Pick<Services, "db">, ownerId: string): Promise<number> {
  const { deliveries } = schema;
  return db.$count(deliveries, and(eq(deliveries.ownerId, ownerId), isNull(deliveries.deliveredAt)));
}
