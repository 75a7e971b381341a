import { schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { getImage } from "./get.ts";
import type { ImageView } from "./image-view.ts";
import { isOwn, type OwnImageInput } from "./own-image.ts";

/** Marks a picture as a favourite, or takes the mark away. Throws `not_found`. */
export async function starImage(
  services: Pick<Services, "db">,
  { starred, ...own }: OwnImageInput & { readonly starred: boolean },
): Promise<ImageView> {
  const { images } = schema;
  const changed = await services.db
    .update(images)
    .set({ starred })
    .where(isOwn(own))
    .returning({ id: images.id });
  if (changed.length === 0) throw new AppError("not_found");
  return getImage(services, own);
}
