import { and, eq, inArray, isNull } from "drizzle-orm";
import { schema, type Tx } from "../db/index.ts";
import { maxOutputPixels, type InputRole } from "../engines/index.ts";
import { AppError, pictureLimits } from "../platform/index.ts";
import type { SubmitRequest } from "./request.ts";

export type InputImage = typeof schema.images.$inferSelect;
export type InputImages = ReadonlyMap<InputRole, InputImage>;

/** Reads the pictures of a request, which must be the owner's own; another's is answered like one that is not there. */
export async function loadInputs(tx: Tx, ownerId: string, request: SubmitRequest): Promise<InputImages> {
  // Safe: the schema of the inputs has roles for its keys; one that is left out is not there.
  const wanted = Object.entries(request.inputs) as [InputRole, string][];
  if (wanted.length === 0) return new Map();
  const { images } = schema;
  const rows = await tx
    .select()
    .from(images)
    .where(
      and(
        eq(images.ownerId, ownerId),
        isNull(images.deletedAt),
        inArray(
          images.id,
          wanted.map(([, id]) => id),
        ),
      ),
    )
    .for("share");
  const found = new Map(rows.map((row) => [row.id, row]));
  const inputs = new Map<InputRole, InputImage>();
  for (const [role, id] of wanted) {
    const image = found.get(id);
    if (!image)
      throw new AppError("not_found", `There is no picture ${id} for "${role}".`, { details: { role } });
    if ((role === "mask") !== (image.role === "mask")) {
      throw new AppError(
        "bad_request",
        role === "mask" ? "The mask must be uploaded with role=mask." : "A mask cannot be used as a picture.",
      );
    }
    inputs.set(role, image);
  }
  checkSizes(request, inputs);
  return inputs;
}

function checkSizes(request: SubmitRequest, inputs: InputImages): void {
  const image = inputs.get("image") ?? inputs.get("person");
  const mask = inputs.get("mask");
  if (image && mask && (image.widthPx !== mask.widthPx || image.heightPx !== mask.heightPx)) {
    throw new AppError(
      "mask_size",
      `The mask has ${mask.widthPx} × ${mask.heightPx} pixels, the picture ${image.widthPx} × ${image.heightPx}.`,
    );
  }
  if (request.kind === "upscale" && image) {
    const pixels = image.widthPx * image.heightPx * request.params.scale ** 2;
    if (pixels > maxOutputPixels) {
      const megapixels = Math.round(pixels / 100_000) / 10;
      throw new AppError(
        "output_too_large",
        `The result would have ${megapixels} megapixels; at most ${pictureLimits.outputMegapixels} are possible.`,
      );
    }
  }
}
