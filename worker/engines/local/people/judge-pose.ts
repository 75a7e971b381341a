import type { Size } from "../raster/grid.ts";
import type { BodyFrame } from "./body.ts";
import type { KeyPoint } from "./pose.ts";
import { refusePerson } from "./refuse-person.ts";

const leastShoulderScore = 0.5;

/** Gates on the pose for putting clothes on. Throws `person_unsuitable`. */
export function judgePose(frame: BodyFrame, { width, height }: Size): void {
  const shoulderScore = Math.min(frame.shoulders[0].score, frame.shoulders[1].score);
  if (shoulderScore < leastShoulderScore) {
    throw refusePerson(
      "Both shoulders must be clearly visible. Use a photo of the person from the front, from the hips up.",
      { gate: "shoulders", score: shoulderScore },
    );
  }
  const isInside = (point: KeyPoint) =>
    point.x > 0.01 * width && point.x < 0.99 * width && point.y > 0 && point.y < height;
  if (!isInside(frame.shoulders[0]) || !isInside(frame.shoulders[1])) {
    throw refusePerson("A shoulder is outside the photo. Use a photo that shows the whole upper body.", {
      gate: "cropped",
      score: 0,
    });
  }
  if (frame.isBackView) {
    throw refusePerson("The person is seen from behind. Use a photo from the front.", {
      gate: "back",
      score: 0,
    });
  }
}
