import type { JobKind } from "../engines/index.ts";
import type { Candidate } from "./candidates.ts";

/** Says why a kind that nothing could run since yesterday does not run, and what to connect. */
export function missingEngineReason(kind: JobKind, candidates: readonly Candidate[]): string {
  const [first] = candidates;
  if (candidates.length === 1 && first?.workflow) {
    return `No server that was seen in the last 24 hours has what the workflow "${first.workflow.title}" needs.`;
  }
  switch (kind) {
    case "text_to_image":
      return "Making pictures from text needs a ComfyUI server; none is connected. The engine of this computer only edits pictures.";
    case "edit":
      return "Changing a picture by words needs a ComfyUI server with a model for it; none is connected.";
    case "restore_faces":
      return "Restoring faces needs an IOPaint server with GFPGAN or RestoreFormer; none is connected.";
    case "inpaint":
    case "outfit_change":
    case "remove_background":
    case "upscale":
      return "No engine that can do this is connected.";
  }
}
