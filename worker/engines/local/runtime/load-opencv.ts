import { createRequire } from "node:module";
import type { CV } from "@techstark/opencv-js";

/** OpenCV in a box: the module itself has a `then`, so an async function must never return it bare. */
export interface Vision {
  readonly cv: CV;
}

const require = createRequire(import.meta.url);

export async function loadOpencv(): Promise<Vision> {
  // The package is a promise of the module or the module itself, not yet started.
  const loaded = require("@techstark/opencv-js") as
    | (CV & { onRuntimeInitialized?: () => void })
    | Promise<CV>;
  if (loaded instanceof Promise) return { cv: await loaded };
  if (!("Mat" in loaded)) {
    await new Promise<void>((resolve) => {
      (loaded as { onRuntimeInitialized?: () => void }).onRuntimeInitialized = resolve;
    });
  }
  return { cv: loaded };
}
