/** Every stage that a run of the local engine reports; the message catalogue `stages` names each. */
export const localStages = [
  "reading",
  "loading",
  "tile",
  "match",
  "pose",
  "matte",
  "edge",
  "garment",
  "clothes",
  "warp",
  "compose",
  "writing",
] as const;

export type LocalStage = (typeof localStages)[number];
