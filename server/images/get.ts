import type { Services } from "../services/index.ts";
import type { ImageView } from "./image-view.ts";
import { findOwnImage, type OwnImageInput } from "./own-image.ts";
import { toImageView } from "./to-view.ts";

/** One picture of the owner. Throws `not_found`. */
export async function getImage(services: Pick<Services, "db">, input: OwnImageInput): Promise<ImageView> {
  const { row, kind } = await findOwnImage(services.db, input);
  return toImageView(row, kind);
}
