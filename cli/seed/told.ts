import { schema } from "@atelier/server/db";
import { createLink, createLinkSchema } from "@atelier/server/links";
import type { Services } from "@atelier/server/services";
import { createBoard, shareBoard } from "@atelier/server/boards";
import { newId } from "@atelier/server/platform";
import { seedDomain } from "./people.ts";

const { deliveries, deliveryAttempts, jobLogs } = schema;

interface Sent {
  readonly channel: "webhook" | "email";
  readonly event: "job.completed" | "job.failed";
  /** Status of each answer, 0 for none; the last one decides. */
  readonly answers: readonly number[];
  readonly state: "delivered" | "failed" | "waiting";
}

/** A receiver that took the message, one that took it at the second try, one that is gone, and one that is tried again tomorrow. */
const messages: readonly Sent[] = [
  { channel: "webhook", event: "job.completed", answers: [200], state: "delivered" },
  { channel: "email", event: "job.completed", answers: [250], state: "delivered" },
  { channel: "webhook", event: "job.completed", answers: [503, 200], state: "delivered" },
  { channel: "webhook", event: "job.completed", answers: [500, 503, 410], state: "failed" },
  { channel: "webhook", event: "job.completed", answers: [0, 0], state: "waiting" },
];

const isTaken = (status: number) => status >= 200 && status < 300;

const errorOf = (status: number) =>
  status === 0 ? "The address does not answer." : `The receiver answered ${status}.`;

interface Told {
  readonly ownerId: string;
  readonly endpointId: string;
  readonly jobIds: readonly string[];
}

/** Messages about ended jobs to receivers outside, one for each job. None is sent: the endpoint is off, and the next try is a day away. */
export async function addDeliveries(
  { db }: Pick<Services, "db">,
  { ownerId, endpointId, jobIds }: Told,
): Promise<void> {
  const hourMs = 3_600_000;
  for (const [at, { channel, event, answers, state }] of messages.entries()) {
    const jobId = jobIds[at];
    if (!jobId) return;
    const id = newId();
    const createdAt = new Date(Date.now() - (at + 1) * hourMs);
    const endedAt = new Date(createdAt.getTime() + answers.length * 1_000);
    const last = answers.at(-1) ?? 0;
    await db.insert(deliveries).values({
      id,
      jobId,
      ownerId,
      channel,
      event,
      attempts: answers.length,
      createdAt,
      target: channel === "email" ? `ada@${seedDomain}` : endpointId,
      nextAttemptAt: state === "waiting" ? new Date(Date.now() + 24 * hourMs) : createdAt,
      deliveredAt: state === "delivered" ? endedAt : null,
      failedAt: state === "failed" ? endedAt : null,
      lastError: state === "delivered" ? null : errorOf(last),
    });
    await db.insert(deliveryAttempts).values(
      answers.map((status, number) => ({
        deliveryId: id,
        number: number + 1,
        startedAt: new Date(createdAt.getTime() + number * 1_000),
        endedAt: new Date(createdAt.getTime() + number * 1_000 + 200),
        isDelivered: isTaken(status),
        status: status === 0 ? null : status,
        error: isTaken(status) ? null : errorOf(status),
      })),
    );
  }
}

/** What was logged about a job that failed. */
export async function addLogs(
  { db }: Pick<Services, "db">,
  { jobId, nodeId }: { readonly jobId: string; readonly nodeId: string },
): Promise<void> {
  const lines = [
    { level: "info", process: "web", message: "job accepted", nodeId: null },
    { level: "info", process: "worker", message: "run begins", nodeId },
    { level: "error", process: "worker", message: "run failed", nodeId },
  ] as const;
  await db.insert(jobLogs).values(
    lines.map((line, at) => ({
      ...line,
      jobId,
      number: at + 1,
      data: {},
      createdAt: new Date(Date.now() - 9_000 + at * 3_000),
    })),
  );
}

interface Shared {
  readonly ownerId: string;
  readonly batchId: string;
  readonly imageId: string | undefined;
}

/** Links to a grid and to a picture; nobody learns their addresses, so what they look like is seen by a new one. */
export async function addLinks(services: Services, { ownerId, batchId, imageId }: Shared): Promise<void> {
  const grid = createLinkSchema.parse({ batchId, title: "Which seed?", endsInDays: 30, mayDownload: true });
  await createLink(services, { ...grid, ownerId });
  if (imageId === undefined) return;
  const one = createLinkSchema.parse({
    imageIds: [imageId],
    endsInDays: null,
    password: "under the old oak",
  });
  await createLink(services, { ...one, ownerId });
}

interface BoardInput {
  readonly ownerId: string;
  readonly imageIds: readonly string[];
}

/** Adds a board of the admin that another user sees, and a saved search. */
export async function addBoards(services: Services, { ownerId, imageIds }: BoardInput): Promise<void> {
  const { id } = await createBoard(services, { ownerId, name: "Autumn", imageIds });
  await createBoard(services, { ownerId, name: "Large ones", search: "size:>1000" });
  await shareBoard(services, { ownerId, id, email: `ben@${seedDomain}`, right: "add" });
}
