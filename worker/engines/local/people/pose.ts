import type { Tensor } from "@tensorflow/tfjs-core";
import sharp from "sharp";
import type { Point, Rgb } from "../raster/grid.ts";
import type { Runtime } from "../runtime/create-runtime.ts";
import { tensorCore } from "../runtime.ts";

/** A point of the body in pixels, with the model's score 0..1. */
export interface KeyPoint extends Point {
  readonly score: number;
}

/** Key points in COCO order; left and right are the person's own. */
export interface Pose {
  readonly nose: KeyPoint;
  readonly leftEye: KeyPoint;
  readonly rightEye: KeyPoint;
  readonly leftShoulder: KeyPoint;
  readonly rightShoulder: KeyPoint;
  readonly leftElbow: KeyPoint;
  readonly rightElbow: KeyPoint;
  readonly leftWrist: KeyPoint;
  readonly rightWrist: KeyPoint;
  readonly leftHip: KeyPoint;
  readonly rightHip: KeyPoint;
  readonly leftKnee: KeyPoint;
  readonly rightKnee: KeyPoint;
  readonly leftAnkle: KeyPoint;
  readonly rightAnkle: KeyPoint;
}

const sidePx = 256;

/** Finds the most prominent person with MoveNet. There is always an answer: judge it by the scores. */
export async function detectPose(runtime: Runtime, { data, width, height }: Rgb): Promise<Pose> {
  const model = await runtime.graph("movenet-thunder");
  const input = await sharp(data, { raw: { width, height, channels: 3 } })
    .resize(sidePx, sidePx, { fit: "contain", background: "#000" })
    .raw()
    .toBuffer();
  const core = tensorCore();
  const tensor = core.tensor(Int32Array.from(input), [1, sidePx, sidePx, 3], "int32");
  const result = model.execute(tensor) as Tensor;
  const values = await result.data();
  core.dispose([tensor, result]);
  const scale = Math.min(sidePx / width, sidePx / height);
  const margin = { x: (sidePx - width * scale) / 2, y: (sidePx - height * scale) / 2 };
  const at = (index: number): KeyPoint => ({
    x: (Number(values[index * 3 + 1]) * sidePx - margin.x) / scale,
    y: (Number(values[index * 3]) * sidePx - margin.y) / scale,
    score: Number(values[index * 3 + 2]),
  });
  return poseOf(at);
}

function poseOf(at: (index: number) => KeyPoint): Pose {
  return {
    nose: at(0),
    leftEye: at(1),
    rightEye: at(2),
    leftShoulder: at(5),
    rightShoulder: at(6),
    leftElbow: at(7),
    rightElbow: at(8),
    leftWrist: at(9),
    rightWrist: at(10),
    leftHip: at(11),
    rightHip: at(12),
    leftKnee: at(13),
    rightKnee: at(14),
    leftAnkle: at(15),
    rightAnkle: at(16),
  };
}
