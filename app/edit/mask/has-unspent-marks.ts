import type { Stroke } from "./stroke.ts";

/** Whether something is marked that no job was given: it would be lost when another version comes in front. */
export function hasUnspentMarks(strokes: readonly Stroke[], spent: readonly Stroke[]): boolean {
  return strokes.some((stroke) => !spent.includes(stroke));
}
