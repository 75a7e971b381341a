import { schema } from "@atelier/server/db";
import { ingest } from "@atelier/server/images";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import sharp from "sharp";

/** A user with one small real picture. */
export interface TestOwner {
  readonly userId: string;
  readonly isGuest: false;
  readonly imageId: string;
}

const sizePx = 16;

/** Adds a user of its own and a picture that the product took in. */
export async function addOwner(services: Services): Promise<TestOwner> {
  const userId = newId();
  await services.db
    .insert(schema.users)
    .values({ id: userId, name: "Test", email: `${userId}@example.test` });
  return { userId, isGuest: false, imageId: await addImage(services, userId) };
}

/** Takes in another picture of the user; each has a colour of its own. */
export async function addImage(services: Services, ownerId: string): Promise<string> {
  const [r = 0, g = 0, b = 0] = Buffer.from(newId().slice(-6), "hex");
  const create = { width: sizePx, height: sizePx, channels: 3 as const, background: { r, g, b } };
  const bytes = await sharp({ create }).png().toBuffer();
  const image = await ingest(services, { ownerId, role: "upload", bytes, name: "test.png" });
  return image.id;
}
