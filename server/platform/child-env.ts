import { getCompileCacheDir } from "node:module";
import path from "node:path";

/**
 * Up to how many bytes of pixels libvips holds in memory. What is larger it writes to the system's temporary folder, by default from
 * 100 MiB on, which a picture of 35 megapixels has: in containers that folder is often small, or closed to writing.
 */
export const decoderSettings = { VIPS_DISC_THRESHOLD: "300m" } as const;

/**
 * The environment of a child process that decodes foreign pictures or runs a model: without that of its parent, and therefore
 * without secrets. It gets the parent's place for compiled code, which halves the time of its start. Without the second name ONNX
 * Runtime, from 1.29 on, reports an id of the machine and facts of each model to Microsoft; with the third sharp opens no SVG.
 */
export function childEnv(): NodeJS.ProcessEnv {
  // Node.js adds a folder for its version.
  const cache = getCompileCacheDir();
  return {
    NODE_ENV: "production",
    ORT_DISABLE_TELEMETRY: "1",
    VIPS_BLOCK_UNTRUSTED: "1",
    ...decoderSettings,
    ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: path.dirname(cache) }),
  };
}
