import { torsoPolygon } from "../people/body.ts";
import { refusePerson } from "../people/refuse-person.ts";
import { byteAt } from "../raster/cells.ts";
import { drawPolygon } from "../raster/draw-polygon.ts";
import { emptyMask, type Mask } from "../raster/grid.ts";
import type { RunContext } from "../run-context.ts";
import { fitArm } from "./fit-arms.ts";
import { chooseRegion } from "./region.ts";
import { garmentTexture } from "./garment-texture.ts";
import { paintedShare } from "./merge-overlay.ts";
import { paintGarment, type Fit } from "./paint.ts";
import type { Scene } from "./scene.ts";
import { shadeOverlay, type Overlay } from "./shade-overlay.ts";
import { smoothRegion } from "./smooth-region.ts";
import { splitGarment } from "./split-garment.ts";
import { fitTorso } from "./fit-torso.ts";

const leastPaintedShare = 0.55;

/** Puts the garment on the person. Throws `person_unsuitable` when too little of the torso can be covered. */
export function composeOutfit(scene: Scene, context: RunContext): { overlay: Overlay; torsoPainted: number } {
  context.progress(0.6, "warp");
  const fit = fitGarment(scene);
  const paint = paintGarment(scene, fit);
  context.progress(0.75, "compose");
  const rough = chooseRegion(scene, fit, paint);
  const region = smoothRegion(scene, rough);
  const torsoPainted = torsoShare(scene, region);
  if (torsoPainted < leastPaintedShare) {
    throw refusePerson(
      "Too little of the upper body could be covered. Use a photo with nothing in front of it.",
      {
        gate: "result",
        score: torsoPainted,
      },
    );
  }
  return { overlay: shadeOverlay(scene, paint, { region, blocked: rough.blocked }), torsoPainted };
}

function fitGarment(scene: Scene): Fit {
  const { garment } = scene;
  const parts = splitGarment(garment.mask, garment.shape);
  const textureOf = (part: Mask) => garmentTexture(garment, part);
  const torso = fitTorso(scene);
  const sleeves = parts.sleeves && ([textureOf(parts.sleeves[0]), textureOf(parts.sleeves[1])] as const);
  return {
    torso,
    arms: [fitArm(scene, torso, 0), fitArm(scene, torso, 1)],
    textures: { torso: textureOf(parts.torso), sleeves },
  };
}

function torsoShare({ frame, clothes }: Scene, region: Mask): number {
  const torso = emptyMask(region);
  drawPolygon(torso, torsoPolygon(frame));
  return paintedShare(region, torso, (i) => {
    return byteAt(clothes.hair.data, i) === 1 || byteAt(clothes.head.data, i) === 1;
  });
}
