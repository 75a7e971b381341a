import { copyStore } from "@atelier/server/images";
import { countProcesses, withSnapshot } from "@atelier/server/db";
import { AppError, isAppError, parseEnv } from "@atelier/server/platform";
import { type ImageDisk, openBucket, openLocalDisk } from "@atelier/server/storage";
import { openDatabase } from "./database.ts";
import { parseFlags } from "./flags.ts";

const usage = "Usage: atelier storage copy --to bucket|files [--verify] [--move]";
const printMs = 1_000;
const askMs = 30_000;

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
  const bucket = await openBucket({ ...env, S3_BUCKET: env.S3_BUCKET });
  try {
    await copy({ files: openLocalDisk(env), bucket }, flags);
    return 0;
  } catch (error) {
    const reason = isAppError(error) && error.cause instanceof Error ? ` (${error.cause.message})` : "";
    console.error(`${error instanceof Error ? error.message : String(error)}${reason}`);
    return 1;
  } finally {
    bucket.close();
  }
}

interface CopyFlags {
  readonly to: string;
  readonly verify: boolean;
  readonly move: boolean;
}

async function copy(
  { files, bucket }: { readonly files: ImageDisk; readonly bucket: ImageDisk },
  flags: CopyFlags,
): Promise<void> {
  if (flags.move) await requireStopped();
  const [from, to] = flags.to === "bucket" ? [files, bucket] : [bucket, files];
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
}

/** Throws `conflict` while the studio runs: what it stores after the last copy would be lost to the new store. */
async function requireStopped(): Promise<void> {
  const { env, close } = await openDatabase();
  try {
    const url = env.DATABASE_DIRECT_URL ?? env.DATABASE_URL;
    const signal = AbortSignal.timeout(askMs);
    const processes = await withSnapshot({
      url,
      signal,
      run: (snapshot) => countProcesses((query) => snapshot.read(query)),
    });
    if (processes > 0)
      throw new AppError(
        "conflict",
        "The studio runs: its processes are connected to the database. Stop web and workers, then move. A pooler keeps connections for some minutes: restart it.",
      );
  } finally {
    await close();
  }
}
