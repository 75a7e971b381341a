import { torsoPolygon } from "../people/body.ts";
import { makePreview } from "../picture/make-preview.ts";
import { readPicture } from "../picture/read-picture.ts";
import { workCopy } from "../picture/work-copy.ts";
import { writeMask, writePng } from "../../pictures.ts";
import { areaOf, type Rgb } from "../raster/grid.ts";
import { inputPath, type LocalRun } from "../run-context.ts";
import { composeOutfit } from "./compose.ts";
import { mergeOverlay } from "./merge-overlay.ts";
import { readGarment, type Category } from "./read-garment.ts";
import { readPerson } from "./read-person.ts";

const workSidePx = 768;

/**
 * Lays a garment from a product photo over a person: a composite to preview an outfit, no generated picture. Every pixel
 * outside the mask stays as it was. Throws `no_person_found`, `person_unsuitable`, `garment_unsuitable`,
 * `upload_unreadable`; details hold the `gate` and its `score`.
 */
export const runOutfitChange: LocalRun = async (task, context) => {
  const startedAt = performance.now();
  context.progress(0, "reading");
  const photo = await readPicture(inputPath(task, "person"));
  const picture = await workCopy(photo, workSidePx);
  const { cv } = await context.runtime.vision();
  context.progress(0.1, "garment");
  const category = (task.params["category"] ?? "auto") as Category;
  const worn = await readGarment(cv, inputPath(task, "garment"), category);
  const seen = await readPerson(cv, picture, context);
  const { frame, person, clothes } = seen;
  const scene = { cv, picture, frame, person, clothes, garment: worn.garment, isLong: worn.isLong };
  const { overlay, torsoPainted } = composeOutfit(scene, context);
  context.preview(await previewOf(picture, (copy) => mergeOverlay(copy, overlay)));
  context.progress(0.9, "writing");
  const mask = mergeOverlay(photo, overlay);
  const path = await writePng(photo, task.workDir);
  if (task.maskPath) await writeMask(mask, task.maskPath);
  context.progress(1, "writing");
  const scale = photo.width / picture.width;
  const facts = {
    scores: { person: seen.scores, garment: worn.scores, torsoPainted },
    isDress: worn.isLong,
    maskPixels: areaOf(mask),
    torso: torsoPolygon(frame).map(({ x, y }) => [Math.round(x * scale), Math.round(y * scale)]),
    timeMs: Math.round(performance.now() - startedAt),
  };
  return [{ path, mime: "image/png", facts }];
};

async function previewOf(picture: Rgb, draw: (copy: Rgb) => unknown): Promise<Uint8Array> {
  const copy = { ...picture, data: Uint8Array.from(picture.data) };
  draw(copy);
  return makePreview(copy);
}
