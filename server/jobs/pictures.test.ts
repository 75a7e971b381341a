import { addOwner } from "@atelier/testing/jobs";
import { createTestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { recallInputs } from "./pictures.ts";
import { parseSubmit } from "./request.ts";

const { images } = schema;

test("a process keeps the facts of the last 500 pictures, however many a request reads at once", async () => {
  const opened = await createTestServices();
  try {
    const { services } = opened;
    const { db } = services;
    const { userId: ownerId, imageId } = await addOwner(services);
    const [row] = await db.select().from(images).where(eq(images.id, imageId));
    if (!row) throw new Error("The picture has no row.");
    const ids = Array.from({ length: 600 }, newId);
    const copyAs = (id: string) => ({ ...row, id, storageKey: `users/${id}`, uploadSha256: id });
    await db.insert(images).values(ids.map(copyAs));
    const recall = (person: string, garment: string) =>
      recallInputs(db, ownerId, parseSubmit({ kind: "outfit_change", inputs: { person, garment } }));
    for (let at = 0; at < ids.length; at += 2) await recall(ids[at] ?? "", ids[at + 1] ?? "");
    await db.delete(images).where(eq(images.ownerId, ownerId));
    expect((await recall(ids[100] ?? "", ids[599] ?? "")).size).toBe(2);
    await expect(recall(ids[99] ?? "", ids[599] ?? "")).rejects.toMatchObject({ code: "not_found" });
  } finally {
    await opened.close();
  }
});
