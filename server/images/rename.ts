import { schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { cleanTitle } from "./clean-title.ts";
import { getImage } from "./get.ts";
import type { ImageView } from "./image-view.ts";
import { isOwn, type OwnImageInput } from "./own-image.ts";

/** Gives a picture a title; it is cleaned to one line of printable text. Throws `not_found`. */
export async function renameImage(
  services: Pick<Services, "db">,
  { title, ...own }: OwnImageInput & { readonly title: string },
): Promise<ImageView> {
  const { images } = schema;
  const changed = await services.db
    .update(images)
    .set({ title: cleanTitle(title) })
    .where(isOwn(own))
    .returning({ id: images.id });
  if (changed.length === 0) throw new AppError("not_found");
  return getImage(services, own);
}
