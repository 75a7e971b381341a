import { makePreview } from "./picture/make-preview.ts";
import { readPicture, type Picture } from "./picture/read-picture.ts";
import { workCopy } from "./picture/work-copy.ts";
import { writePng } from "../pictures.ts";
import { personMatte } from "./people/matte.ts";
import { byteAt } from "./raster/cells.ts";
import { areaOf, type Grey, type Mask, type Rgb } from "./raster/grid.ts";
import { inputPath, type LocalRun } from "./run-context.ts";
import { cleanEdgeColors } from "./background/clean-edge-colors.ts";
import { keepPeople } from "./background/keep-people.ts";
import { seePeople } from "./background/see-people.ts";
import { softenEdge } from "./background/soften-edge.ts";

const workSidePx = 768;

/** Cuts people out onto a transparent ground. Throws `no_person_found`, `upload_unreadable`. */
export const runRemoveBackground: LocalRun = async (task, context) => {
  const startedAt = performance.now();
  context.progress(0, "reading");
  const picture = await readPicture(inputPath(task, "image"));
  const work = await workCopy(picture, workSidePx);
  context.progress(0.1, "pose");
  const { sighting, scores } = await seePeople(context.runtime, work);
  context.progress(0.4, "matte");
  const { cv } = await context.runtime.vision();
  const matte = personMatte(cv, sighting, (mask) => keepPeople(cv, mask));
  context.preview(await makePreview(dimGround(work, matte.mask)));
  context.progress(0.7, "edge");
  const alpha = softenEdge(cv, { picture, work }, matte.mask);
  cleanEdgeColors(picture, alpha, { work, matte: matte.mask });
  context.progress(0.9, "writing");
  const path = await writePng({ ...picture, alpha: keepTransparency(picture, alpha) }, task.workDir);
  context.progress(1, "writing");
  const matteShare = areaOf(matte.mask) / matte.mask.data.length;
  const timeMs = Math.round(performance.now() - startedAt);
  const facts = { scores, matteShare, boneAgreement: matte.boneAgreement, timeMs };
  return [{ path, mime: "image/png", facts }];
};

/** What was transparent before stays so. */
function keepTransparency(picture: Picture, alpha: Grey): Grey {
  const old = picture.alpha;
  if (!old) return alpha;
  return { ...alpha, data: alpha.data.map((value, i) => Math.round((value * byteAt(old.data, i)) / 255)) };
}

function dimGround(work: Rgb, matte: Mask): Rgb {
  const data = work.data.map((value, i) => (byteAt(matte.data, Math.floor(i / 3)) ? value : value >> 2));
  return { ...work, data };
}
