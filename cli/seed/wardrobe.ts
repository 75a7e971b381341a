import { readFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import { schema } from "@atelier/server/db";
import { ingest } from "@atelier/server/images";
import type { Services } from "@atelier/server/services";
import { addItem, stateConsent } from "@atelier/server/wardrobe";
import { idAt } from "./jobs.ts";
import { type LocalJob, samplesDir } from "./local.ts";

const onPaper = (shapes: string) =>
  Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="800"><rect width="640" height="800" fill="#f1efea"/>${shapes}</svg>`,
  );

const shoe =
  '<path d="M40 150 q10 -90 60 -95 q40 30 70 60 q70 15 90 55 v40 H40z" fill="#7a4a2b"/><rect x="36" y="205" width="230" height="22" rx="10" fill="#2c2420"/>';

/** Garments of which no sample ships with the product, drawn by code. */
const drawn = {
  shoes: onPaper(`<g transform="translate(60 220)">${shoe}</g><g transform="translate(270 400)">${shoe}</g>`),
  trousers: onPaper(
    '<path d="M200 90 H440 L480 710 H360 L320 300 L280 710 H160z" fill="#31486b"/><rect x="200" y="90" width="240" height="34" fill="#26385a"/>',
  ),
} as const;

const garments = [
  { file: "garment_hoodie.jpg", category: "outerwear", name: "Hoodie", tags: ["warm"] },
  { file: "garment_tee.jpg", category: "top", name: "Tee", tags: ["summer"] },
  { file: "garment_long_sleeve.jpg", category: "top", name: "Checked shirt", tags: ["office"] },
  { file: "garment_dress.jpg", category: "dress", name: "Dotted dress", tags: ["summer"] },
  { drawing: "trousers", category: "bottom", name: "Trousers", tags: ["office"] },
  { drawing: "shoes", category: "shoes", name: "Boots", tags: ["warm"] },
] as const;

/** Garments of all kinds, and persons whose consent is stated, in the wardrobe of one user. */
export async function fillWardrobe(
  services: Services,
  ownerId: string,
  uploads: ReadonlyMap<string, string>,
): Promise<void> {
  const upload = async (name: string, bytes: Buffer) =>
    (await ingest(services, { ownerId, role: "upload", bytes, name })).id;
  for (const garment of garments) {
    const { category, name, tags } = garment;
    const imageId =
      "file" in garment
        ? (uploads.get(garment.file) ?? "")
        : await upload(`${garment.drawing}.png`, await sharp(drawn[garment.drawing]).png().toBuffer());
    const facts = { what: "garment", category, name, cutOutJobId: null } as const;
    await addItem(services, { ...facts, tags: [...tags], imageId, ownerId });
  }
  const mirrored = sharp(await readFile(path.join(samplesDir, "astronaut.png"))).flop();
  const persons = [
    { name: "Eileen", imageId: uploads.get("astronaut.png") ?? "" },
    { name: "Eileen, mirrored", imageId: await upload("mirrored.png", await mirrored.png().toBuffer()) },
  ];
  for (const { name, imageId } of persons) {
    const facts = { what: "person", category: null, cutOutJobId: null } as const;
    await addItem(services, { ...facts, tags: [], name, imageId, ownerId });
    await stateConsent(services, { ownerId, imageId });
  }
}

interface Own {
  readonly ownerId: string;
  readonly jobs: readonly LocalJob[];
}

async function addEnded(
  services: Services,
  batch: Pick<typeof schema.batches.$inferInsert, "ownerId" | "title" | "axes">,
  jobIds: readonly string[],
): Promise<string> {
  const endedAt = new Date();
  const createdAt = new Date(endedAt.getTime() - 120_000);
  const id = idAt(createdAt);
  await services.db
    .insert(schema.batches)
    .values({ ...batch, id, size: jobIds.length, maxPriceUsd: 0, createdAt, endedAt });
  await services.db
    .insert(schema.batchJobs)
    .values(jobIds.map((jobId, position) => ({ batchId: id, position, jobId })));
  return id;
}

/** A lookbook, and an outfit of two pieces that were put on one after the other. */
export async function addOutfits(services: Services, { ownerId, jobs }: Own): Promise<void> {
  const looks = jobs.filter(({ of }) => of === "lookbook");
  const axes = [
    { param: "inputs.person", values: looks.slice(0, 1).map(({ inputs }) => inputs["person"] ?? "") },
    {
      param: "inputs.garment",
      values: looks.map(({ inputs }) => inputs["garment"] ?? ""),
      along: [{ param: "category", values: looks.map(() => "top") }],
    },
  ];
  await addEnded(
    services,
    { ownerId, title: "Lookbook", axes },
    looks.map(({ jobId }) => jobId),
  );
  const [first, second] = jobs.filter(({ of }) => of === "outfit");
  if (!first || !second) return;
  const batchId = await addEnded(services, { ownerId, title: "Tee and hoodie", axes: null }, [second.jobId]);
  const { kind, params, inputs } = second;
  await services.db.insert(schema.batchSteps).values({
    batchId,
    position: 0,
    number: 1,
    request: { kind, engine: "local", params, inputs: { garment: inputs["garment"] } },
    role: "person",
    maxPriceUsd: 0,
    sourceJobId: first.jobId,
    begunAt: new Date(),
  });
}
