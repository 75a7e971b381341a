"use client";
import { useCallback } from "react";
import { useEngineName } from "./use-engine-name.ts";
import { useWorkflowTitle } from "./use-workflow-title.ts";

/** What runs a job, in words: `ComfyUI, Z-Image Turbo`, `This computer`. */
export function useNeedName(): (need: string) => string {
  const engineName = useEngineName();
  const titleOf = useWorkflowTitle();
  return useCallback(
    (need) => {
      const [engine = "", what = ""] = need.split("/");
      return engine === "comfyui" ? `${engineName(engine)}, ${titleOf(what)}` : engineName(engine);
    },
    [engineName, titleOf],
  );
}
