import { drawCapsule } from "../raster/draw-capsule.ts";
import { drawPolygon } from "../raster/draw-polygon.ts";
import { emptyMask, type Mask, type Size } from "../raster/grid.ts";
import type { BodyFrame } from "./body.ts";

const bothSides = [0, 1] as const;

/** Thin capsules along bones that are certainly the person. */
export function drawSkeleton(frame: BodyFrame, size: Size): Mask {
  const mask = emptyMask(size);
  const { at, torsoLength, shoulderWidthPx: unit } = frame;
  drawPolygon(mask, [at(-0.4, 0.05), at(0.4, 0.05), at(0.3, torsoLength * 0.9), at(-0.3, torsoLength * 0.9)]);
  drawCapsule(mask, { from: frame.nose, to: at(0, 0), radius: 0.1 * unit });
  for (const side of bothSides) {
    const [elbow, wrist, hip, knee] = limbs(frame, side);
    if (elbow.score > 0.35) {
      drawCapsule(mask, { from: frame.shoulders[side], to: elbow, radius: 0.06 * unit });
      if (wrist.score > 0.35) drawCapsule(mask, { from: elbow, to: wrist, radius: 0.04 * unit });
    }
    if (hip.score > 0.3 && knee.score > 0.3) drawCapsule(mask, { from: hip, to: knee, radius: 0.07 * unit });
  }
  return mask;
}

/** All that the person can reach; what is outside is certainly not this person. */
export function drawReach(frame: BodyFrame, size: Size): Mask {
  const mask = emptyMask(size);
  const { at, torsoLength, shoulderWidthPx: unit } = frame;
  const bottom = torsoLength + 0.5;
  drawPolygon(mask, [at(-0.85, -0.35), at(0.85, -0.35), at(0.95, bottom), at(-0.95, bottom)]);
  drawCapsule(mask, { from: frame.nose, to: at(0, 0), radius: 0.6 * unit });
  for (const side of bothSides) {
    const [elbow, wrist, hip, knee] = limbs(frame, side);
    if (elbow.score > 0.15) {
      drawCapsule(mask, { from: frame.shoulders[side], to: elbow, radius: 0.42 * unit });
      if (wrist.score > 0.15) drawCapsule(mask, { from: elbow, to: wrist, radius: 0.36 * unit });
    }
    const isKneeSeen = knee.score > 0.2;
    const thighEnd = isKneeSeen ? knee : at(side ? 0.3 : -0.3, torsoLength + 1.2);
    drawCapsule(mask, { from: hip, to: thighEnd, radius: 0.6 * unit });
    if (isKneeSeen && frame.ankles[side].score > 0.2) {
      drawCapsule(mask, { from: knee, to: frame.ankles[side], radius: 0.4 * unit });
    }
  }
  return mask;
}

function limbs(frame: BodyFrame, side: 0 | 1) {
  return [frame.elbows[side], frame.wrists[side], frame.hips[side], frame.knees[side]] as const;
}
