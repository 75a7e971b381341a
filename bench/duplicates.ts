import sharp from "sharp";
import { comparePictures, listDuplicates, mergeDuplicates } from "@atelier/server/duplicates";
import { ingest } from "@atelier/server/images";
import { seedOwner } from "./find-pictures.ts";
import { openStage, type Stage } from "./stage.ts";
import { quantile, show } from "./start-and-throughput.ts";

const sizes = [1_000, 250_000] as const;
const newPictures = 100;
const calls = 20;

/** Finding pictures that look the same, of an owner with 1,000 and one with 250,000 pictures. */
export async function benchDuplicates(): Promise<string[]> {
  const stage = await openStage("postgres");
  for (const size of sizes) await seedLikenesses(stage, `owner-${size}`, size);
  await stage.run("vacuum analyze");
  const lines = [
    `ms at ${sizes.join(" and ")} pictures, of which 1 % are in pairs and 5 % are plain (one hash for all of them)`,
  ];
  const compared: string[] = [];
  const listed: string[] = [];
  const idle: string[] = [];
  const merged: string[] = [];
  for (const size of sizes) {
    const ownerId = `owner-${size}`;
    for (let at = 0; at < newPictures; at += 1) await addPicture(stage, ownerId, at);
    const beganMs = performance.now();
    const count = await comparePictures(stage.services, { ownerId, most: newPictures });
    compared.push(`${show((performance.now() - beganMs) / count, 1)} (of ${count})`);
    listed.push(await timesOf(() => listDuplicates(stage.services, { ownerId })));
    const groups = [...(await listDuplicates(stage.services, { ownerId })).groups];
    merged.push(
      await timesOf(async () => {
        const [keepId = "", ...removeIds] = groups.pop()?.pictures.map(({ id }) => id) ?? [];
        if (removeIds.length > 0) await mergeDuplicates(stage.services, { ownerId, keepId, removeIds });
      }),
    );
    idle.push(await timesOf(() => comparePictures(stage.services, { most: 1 })));
  }
  lines.push(`comparing a new picture with all: ${compared.join(", ")}`);
  lines.push(`first page of groups, p50 and p95: ${listed.join(", ")}`);
  lines.push(`merging a group, p50 and p95: ${merged.join(", ")}`);
  lines.push(`looking for pictures to compare when there are none, p50 and p95: ${idle.join(", ")}`);
  await stage.close();
  return lines;
}

async function timesOf(work: () => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  for (let call = 0; call < calls; call += 1) {
    const beganMs = performance.now();
    await work();
    times.push(performance.now() - beganMs);
  }
  return `${show(quantile(times, 0.5), 1)} / ${show(quantile(times, 0.95), 1)}`;
}

async function addPicture({ services }: Stage, ownerId: string, at: number): Promise<void> {
  // Every tenth is plain, as the many that are there.
  const noise = Uint8Array.from({ length: 16 * 16 * 3 }, () =>
    at % 10 === 0 ? 90 + at : Math.random() * 255,
  );
  const bytes = await sharp(noise, { raw: { width: 16, height: 16, channels: 3 } })
    .resize(320, 320, { kernel: "cubic" })
    .png()
    .toBuffer();
  await ingest(services, { ownerId, role: "upload", bytes });
}

async function seedLikenesses(stage: Stage, ownerId: string, pictures: number): Promise<void> {
  await seedOwner(stage, ownerId, pictures);
  await stage.run(`
    insert into likenesses (image_id, owner_id, hash, compared_at)
    select id, owner_id, case when random() < 0.05 then 0 else
      (floor(random() * 4294967296)::bigint << 32) | floor(random() * 4294967296)::bigint end, now()
    from images where owner_id = '${ownerId}';
    insert into duplicate_pairs (image_id, twin_id, owner_id)
    select id, next, '${ownerId}' from (
      select id, lead(id) over (order by id) as next, row_number() over (order by id) as n from images where owner_id = '${ownerId}') made
    where n % 200 = 0 and next is not null`);
}
