import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { eq, sql } from "drizzle-orm";
import sharp from "sharp";
import { schema } from "@atelier/server/db";
import type { JobKind } from "@atelier/server/engines";
import { storeOutput } from "@atelier/server/images";
import { claim, complete, type Job } from "@atelier/server/jobs";
import type { Services } from "@atelier/server/services";
import { confirmLink, createLink, openCode } from "@atelier/server/telegram";
import { addOwner, readJob, type TestOwner, until as untilStatus } from "../jobs/index.ts";
import type { Person } from "./people.ts";

/** A small picture of one colour; each call gives another one. */
let made = 0;
export function photo(size: { readonly width?: number; readonly height?: number } = {}): Promise<Buffer> {
  made += 1;
  const { width = 40, height = 30 } = size;
  const background = { r: made % 256, g: (made * 7) % 256, b: 90 };
  return sharp({ create: { width, height, channels: 3, background } })
    .jpeg()
    .toBuffer();
}

/** The code of a deep link. */
export function codeOf({ url }: { readonly url: string }): string {
  return new URL(url).searchParams.get("start") ?? "";
}

/** A user whose account is linked with the person's chat, without the bot. */
export async function linkOwner(services: Services, person: Person): Promise<TestOwner> {
  const owner = await addOwner(services);
  const chatId = String(person.chatId);
  const question = await openCode(services, {
    code: codeOf(await createLink(services, owner.userId)),
    chatId,
  });
  if (!question || !(await confirmLink(services, { codeId: question.codeId, chatId, name: "@ann" })))
    throw new Error("the chat was not linked");
  return owner;
}

/** The jobs of an owner, oldest first. */
export async function jobsOf({ db }: Services, { userId }: TestOwner): Promise<Job[]> {
  return db.select().from(schema.jobs).where(eq(schema.jobs.ownerId, userId)).orderBy(schema.jobs.id);
}

/** Roles of a job's pictures, by name. */
export async function rolesOf({ db }: Services, jobId: string): Promise<string[]> {
  const { jobInputs } = schema;
  const rows = await db.select().from(jobInputs).where(eq(jobInputs.jobId, jobId));
  return rows.map(({ role }) => role).toSorted();
}

/** How many photos of persons the owner has given a consent for. */
export function countConsents({ db }: Services, { userId }: TestOwner): Promise<number> {
  return db.$count(schema.consents, eq(schema.consents.ownerId, userId));
}

/** Has a running job report its progress. */
export async function setProgress({ db }: Services, jobId: string, progress: number): Promise<void> {
  await db.update(schema.jobs).set({ progress }).where(eq(schema.jobs.id, jobId));
}

/** Leaves the rows as if the process had died after a job was submitted and before its update was noted as handled. */
export async function forgetHandled({ db }: Services): Promise<void> {
  await db.update(schema.telegramUpdates).set({ doneAt: null });
  await db.update(schema.telegramRequests).set({ endedAt: null, asksAt: null });
  await db.update(schema.telegramBots).set({ nextOffset: null });
}

/** Leaves the price that a chat is asked about as if it had been asked too long ago. */
export async function expireOffers({ db }: Services, { chatId }: Person): Promise<void> {
  const { telegramRequests } = schema;
  await db
    .update(telegramRequests)
    .set({ offerUntil: sql`clock_timestamp()` })
    .where(eq(telegramRequests.chatId, String(chatId)));
}

/** Leaves the price that a chat is asked about as if it had been this low then, US dollars. */
export async function cheapenOffers({ db }: Services, { chatId }: Person, priceUsd: number): Promise<void> {
  const { telegramRequests } = schema;
  const lower = JSON.stringify({ priceUsd, maxPriceUsd: priceUsd });
  await db
    .update(telegramRequests)
    .set({ offer: sql`offer || ${lower}::jsonb` })
    .where(eq(telegramRequests.chatId, String(chatId)));
}

/** Leaves a node as if its last beat had been so many seconds ago. */
export async function noteSeen({ db }: Services, nodeId: string, secondsAgo: number): Promise<void> {
  const seenAt = sql`now() - ${secondsAgo} * interval '1 second'`;
  await db.update(schema.nodes).set({ seenAt }).where(eq(schema.nodes.id, nodeId));
}

/** The process that reads the bot's updates; null when none does. */
export async function readHolder({ db }: Services): Promise<string | null> {
  const { telegramBots } = schema;
  const [row] = await db
    .select({ holder: telegramBots.holder })
    .from(telegramBots)
    .where(sql`${telegramBots.leaseUntil} > clock_timestamp()`);
  return row?.holder ?? null;
}

export interface Picture {
  readonly width?: number;
  readonly height?: number;
  readonly channels?: 3 | 4;
  /** Random pixels, which no format makes small. */
  readonly isNoise?: boolean;
}

/** Starts a waiting job on a node of its queue, as a worker does; `end` completes it with these pictures, or with one. */
export async function startJob(services: Services, jobId: string) {
  const { queue, need } = await untilStatus(services, jobId, "queued");
  const { nodeQueues } = schema;
  const [node] = await services.db.select().from(nodeQueues).where(eq(nodeQueues.queue, queue));
  const nodeId = node?.nodeId ?? "";
  const claimed = await claim(services, { nodeId, queue, offers: [{ need, servers: null }] });
  if (claimed?.id !== jobId) throw new Error("another job was claimed");
  const lease = { jobId, attempt: claimed.attempt, nodeId };
  return {
    lease,
    async end(...pictures: readonly Picture[]): Promise<Job> {
      const { ownerId, kind, attempt } = claimed;
      const outputs = [];
      for (const [position, picture] of (pictures.length === 0 ? [{}] : pictures).entries()) {
        const owned = { ownerId, kind, attempt, jobId, position };
        outputs.push({ ...(await storePicture(services, owned, picture)), position });
      }
      if (!(await complete(services, { lease, outputs, facts: {} }))) throw new Error("the lease is lost");
      return readJob(services, jobId);
    },
  };
}

async function storePicture(
  services: Services,
  owned: {
    readonly ownerId: string;
    readonly kind: JobKind;
    readonly attempt: number;
    readonly jobId: string;
    readonly position: number;
  },
  { width = 64, height = 48, channels = 3, isNoise = false }: Picture,
) {
  const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-telegram-"));
  try {
    const file = path.join(folder, "result.png");
    const raw = isNoise
      ? crypto.getRandomValues(Buffer.alloc(Math.min(65_536, width * height * channels)))
      : null;
    const background = channels === 4 ? { r: 200, g: 90, b: 60, alpha: 0.4 } : { r: 200, g: 90, b: 60 };
    const source = raw
      ? sharp(repeat(raw, width * height * channels), { raw: { width, height, channels } })
      : sharp({ create: { width, height, channels, background } });
    await writeFile(file, await source.png({ compressionLevel: isNoise ? 0 : 6 }).toBuffer());
    return await storeOutput(services, { ...owned, path: file, mime: "image/png" });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function repeat(part: Buffer, sizeBytes: number): Buffer {
  return Buffer.alloc(sizeBytes, part);
}
