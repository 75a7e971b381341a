/**
 * A worker with a custom engine, which enlarges pictures without smoothing, for pixel art.
 *
 *   DATABASE_URL=... AUTH_SECRET=... node examples/write-an-engine.ts
 *
 * It needs the database, the secret and the image store of a studio, as every worker does (`docs/worker.md`). An engine has the name of
 * one that the studio knows, since jobs are placed by it; this one takes the place of the engine that ships with the
 * product, in this process alone. A new name is added in `server/engines.ts`.
 */
import path from "node:path";
import sharp from "sharp";
import { localEngine } from "@atelier/server/engines";
import { AppError, loadConfig, openLog, parseEnv } from "@atelier/server/platform";
import { clientOf } from "@atelier/server/providers";
import { openServices } from "@atelier/server/services";
import type { Engine } from "@atelier/worker/engines";
import { createServerPool } from "@atelier/worker/servers";
import { work } from "@atelier/worker/work";

/** One run: files in, files out. Rows, leases, queues and retries are the worker's business. */
const pixelEngine: Engine = {
  name: localEngine.name,
  kinds: ["upscale"],
  async run({ inputs, params, workDir }, context) {
    const { image } = inputs;
    // A code of the error table says what happens next: this one ends the job, others try it elsewhere.
    if (!image) throw new AppError("bad_request", "There is no picture.");
    context.onProgress(0.1, "reading");
    const { width, height } = await sharp(image).metadata();
    context.signal.throwIfAborted();
    const scale = Number(params["scale"]);
    const file = path.join(workDir, "result.png");
    context.onProgress(0.5, "writing");
    await sharp(image)
      .resize(width * scale, height * scale, { kernel: "nearest" })
      .png()
      .toFile(file);
    return [{ path: file, mime: "image/png", facts: { scale } }];
  },
  close: () => Promise.resolve(),
};

const { env, problems } = parseEnv(process.env);
if (!env) throw new Error(problems.map(({ name, message }) => `${name} ${message}`).join("\n"));
const config = await loadConfig(env.ATELIER_CONFIG);
const log = await openLog({ env, name: "worker" });
const services = await openServices({ env, config, name: "worker", log });
// Until Ctrl+C; then jobs end or are handed back.
await work(services, {
  engines: [pixelEngine],
  pool: createServerPool({ sources: [], workflows: () => [], config, log }),
  providers: { keys: [], clientOf },
  workflows: () => [],
  ownWorkflows: [],
  problems: [],
});
