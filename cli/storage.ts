import { copyStore } from "@atelier/server/images";
import { isAppError, parseEnv } from "@atelier/server/platform";
import { openBucket, openLocalDisk } from "@atelier/server/storage";
import { parseFlags } from "./flags.ts";

const usage = "Usage: atelier storage copy --to bucket|files [--verify] [--move]";
const printMs = 1_000;

/**
 * `atelier storage copy`: copies the pictures between the data folder and the bucket of the S3_ names. Ended at any time,
 * it goes on when it is run again. Returns the exit code.
 */
export async function storage([command, ...args]: string[]): Promise<number> {
  const flags = parseFlags({
    args,
    options: {
      to: { type: "string", default: "" },
      verify: { type: "boolean", default: false },
      move: { type: "boolean", default: false },
    },
    required: ["to"],
    usage,
  });
  if (!flags) return 1;
  if (command !== "copy" || !["bucket", "files"].includes(flags.to)) {
    console.error(usage);
    return 1;
  }
  const { env, problems } = parseEnv(process.env);
  if (!env?.S3_BUCKET) {
    const lines = problems.map(({ name, message }) => `${name} ${message}`);
    console.error(lines.join("\n") || "S3_BUCKET and the other S3_ names are not set");
    return 1;
  }
  const files = openLocalDisk(env);
  const bucket = await openBucket({ ...env, S3_BUCKET: env.S3_BUCKET });
  const [from, to] = flags.to === "bucket" ? [files, bucket] : [bucket, files];
  try {
    let printedAtMs = performance.now();
    const { copied, skipped, copiedBytes } = await copyStore({
      from,
      to,
      isVerified: flags.verify,
      isMove: flags.move,
      onProgress(progress) {
        if (performance.now() - printedAtMs < printMs) return;
        printedAtMs = performance.now();
        console.log(`${progress.copied} copied, ${progress.skipped} there already`);
      },
    });
    const mb = (copiedBytes / 1e6).toFixed(1);
    console.log(`Done: ${copied} objects copied (${mb} MB), ${skipped} there already.`);
    return 0;
  } catch (error) {
    const reason = isAppError(error) && error.cause instanceof Error ? ` (${error.cause.message})` : "";
    console.error(`${error instanceof Error ? error.message : String(error)}${reason}`);
    return 1;
  } finally {
    bucket.close();
  }
}
