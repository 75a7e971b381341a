import type { EngineOutput, EngineTask } from "../port.ts";
import type { LocalStage } from "./stages.ts";

/** Asks a child for one run. */
export interface RunMessage {
  readonly task: EngineTask;
  readonly modelsDir: string;
}

/** An AppError on its way to the parent; `trace` is the stack of what was thrown, for the log. */
export interface WireError {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly trace?: string;
}

/** What a child says during and at the end of a run. */
export type ChildMessage =
  | { readonly type: "progress"; readonly fraction: number; readonly stage: LocalStage }
  | { readonly type: "preview"; readonly bytes: Uint8Array }
  | { readonly type: "done"; readonly outputs: readonly EngineOutput[] }
  | { readonly type: "failed"; readonly error: WireError };
