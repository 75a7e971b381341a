import { morph } from "../raster/filters.ts";
import { byteAt, doubleAt, emptyMask, floatAt, intAt, type Mask, maskWhere } from "../raster/grid.ts";
import { components, drawCapsule } from "../raster/shapes.ts";
import { bodyPosition, type Fit, type Painted, zone } from "./paint.ts";
import type { Scene } from "./change.ts";

/** Where the garment is visible, and what is in front of it. */
export interface Region {
  readonly painted: Mask;
  readonly blocked: Mask;
  /** The person and a thin rim. */
  readonly body: Mask;
}

/** What is decided for one pixel; a loose one is neither skin nor old clothes, so perhaps something in front. */
type Verdict = "painted" | "loose" | "blocked" | "open";

interface Look {
  readonly scene: Scene;
  readonly fit: Fit;
  readonly paint: Painted;
  readonly forearm: Mask;
  readonly body: Mask;
  readonly nearCover: Mask;
}

/** Decides pixel by pixel from zone, old clothes, skin and cover; the outline is still rough. */
export function chooseRegion(scene: Scene, fit: Fit, paint: Painted): Region {
  const { cv, person, garment, frame } = scene;
  const covered = maskWhere(person, (i) => floatAt(paint.cover.data, i) > 0.5);
  // Old clothes that stick out are covered too, but only near the garment: further away they would be smears.
  const reach = (garment.shape.sleeves ? 0.16 : 0.05) * frame.shoulderWidthPx;
  const look: Look = {
    scene,
    fit,
    paint,
    forearm: drawForearms(scene, fit),
    body: morph(cv, person, ["dilate", 2]),
    nearCover: morph(cv, covered, ["dilate", reach]),
  };
  const painted = emptyMask(person);
  const loose = emptyMask(person);
  const blocked = emptyMask(person);
  const target = { painted, loose, blocked };
  for (let i = 0; i < painted.data.length; i++) {
    const verdict = judgePixel(look, i);
    if (verdict !== "open") target[verdict].data[i] = 1;
  }
  addSmallPieces(scene, painted, loose);
  return { painted, blocked, body: look.body };
}

function judgePixel(look: Look, i: number): Verdict {
  const { head, hair, skin } = look.scene.clothes;
  if (byteAt(head.data, i) || byteAt(hair.data, i)) return "blocked";
  const place = byteAt(look.paint.zones, i);
  if (place === zone.none) return "open";
  if (place === zone.bareArm) return "blocked";
  if (place === zone.sleeve) return judgeSleeve(look, pixelAt(look, i));
  if (byteAt(look.forearm.data, i) && byteAt(skin.data, i)) return "blocked";
  return judgeTorso(look, pixelAt(look, i));
}

/** What the masks say about one pixel. */
interface Pixel {
  readonly i: number;
  readonly isCovered: boolean;
  readonly isOld: boolean;
  readonly isSkin: boolean;
  readonly isPerson: boolean;
  /** Skin, or just beside the person: the garment is seen there where it lies. */
  readonly isOnRim: boolean;
}

function pixelAt({ scene, paint, body }: Look, i: number): Pixel {
  const isSkin = byteAt(scene.clothes.skin.data, i) === 1;
  const isPerson = byteAt(scene.person.data, i) === 1;
  return {
    i,
    isSkin,
    isPerson,
    isCovered: floatAt(paint.cover.data, i) > 0.5,
    isOld: byteAt(scene.clothes.mask.data, i) === 1,
    isOnRim: byteAt(body.data, i) === 1 && (isSkin || !isPerson),
  };
}

function judgeSleeve(look: Look, pixel: Pixel): Verdict {
  const { i, isCovered, isOld, isSkin } = pixel;
  const isReplaced = isOld || (isSkin && !byteAt(look.forearm.data, i));
  const isNear = byteAt(look.nearCover.data, i) === 1;
  if (isReplaced && byteAt(look.body.data, i) && isNear) return "painted";
  if (isCovered && pixel.isOnRim) return "painted";
  if (!isNear) return "open";
  const { across } = positionOf(look.scene, i);
  // An elbow that is not seen is often behind an object.
  return pixel.isPerson && look.fit.arms[across < 0 ? 0 : 1].isElbowSeen ? "loose" : "open";
}

function judgeTorso(look: Look, pixel: Pixel): Verdict {
  if (pixel.isOld && (pixel.isCovered || isRimOfClothes(look, pixel.i))) return "painted";
  if (!pixel.isCovered) return "open";
  if (pixel.isOnRim || (!pixel.isSkin && isSkirt(look, pixel.i))) return "painted";
  return pixel.isPerson ? "loose" : "open";
}

/** Old clothes just outside the garment, between collar and hem. */
function isRimOfClothes({ scene, fit, nearCover }: Look, i: number): boolean {
  if (!byteAt(nearCover.data, i)) return false;
  const { across, down } = positionOf(scene, i);
  return Math.abs(across) > fit.torso.neckHalf && down > -0.3 && down < fit.torso.hemDown - 0.03;
}

/** A skirt may be wider than the legs. */
function isSkirt({ scene }: Look, i: number): boolean {
  return scene.isLong && positionOf(scene, i).down > scene.frame.torsoLength * 0.75;
}

function positionOf({ frame, picture }: Scene, i: number) {
  return bodyPosition(frame, { x: i % picture.width, y: Math.floor(i / picture.width) });
}

/** Forearms and hands that are seen; they may be in front of the torso. */
function drawForearms({ frame, picture }: Scene, fit: Fit): Mask {
  const mask = emptyMask(picture);
  const unit = frame.shoulderWidthPx;
  for (const side of [0, 1] as const) {
    if (!fit.arms[side].isWristSeen) continue;
    const [elbow, wrist] = [frame.elbows[side], frame.wrists[side]];
    const fingers = { x: wrist.x + (wrist.x - elbow.x) * 0.35, y: wrist.y + (wrist.y - elbow.y) * 0.35 };
    drawCapsule(mask, { from: elbow, to: wrist, radius: 0.15 * unit });
    drawCapsule(mask, { from: wrist, to: fingers, radius: 0.17 * unit });
  }
  return mask;
}

/** Badges, buttons and straps are small and painted over; large unexplained pieces are objects in front. */
function addSmallPieces({ cv, frame }: Scene, painted: Mask, loose: Mask): void {
  const { labels, areas } = components(cv, loose);
  const largest = (0.2 * frame.shoulderWidthPx) ** 2;
  for (let i = 0; i < labels.length; i++) {
    if (byteAt(loose.data, i) && doubleAt(areas, intAt(labels, i)) < largest) painted.data[i] = 1;
  }
}
