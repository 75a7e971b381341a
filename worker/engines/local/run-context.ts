import type { InputRole } from "@atelier/server/engines";
import { AppError } from "@atelier/server/platform";
import type { EngineOutput, EngineTask } from "../port.ts";
import type { Runtime } from "./runtime.ts";

/** Every stage that a run of the local engine reports; the message catalogue `stages` names each. */
const localStages = [
  "reading",
  "loading",
  "tile",
  "match",
  "pose",
  "salience",
  "matte",
  "edge",
  "garment",
  "clothes",
  "warp",
  "compose",
  "adjust",
  "crop",
  "restore",
  "writing",
] as const;

export type LocalStage = (typeof localStages)[number];

/** What a run inside the child may use: the loaded models and the way back to the parent. */
export interface RunContext {
  readonly runtime: Runtime;
  progress(fraction: number, stage: LocalStage): void;
  preview(bytes: Uint8Array): void;
}

export type LocalRun = (task: EngineTask, context: RunContext) => Promise<readonly EngineOutput[]>;

export function inputPath(task: EngineTask, role: InputRole): string {
  const path = task.inputs[role];
  if (!path) throw new AppError("input_missing", undefined, { details: { role } });
  return path;
}
