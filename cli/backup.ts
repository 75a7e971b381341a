import { backUp, type BackupProgress, checkBackup, restore as restoreStudio } from "@atelier/server/backup";
import { isAppError, loadConfig, parseEnv } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import { openDisk } from "@atelier/server/storage";
import { type OpenDatabase, openDatabase } from "./database.ts";
import { parseFlags } from "./flags.ts";

const backupUsage = "Usage: atelier backup --to <folder>";

/** `atelier backup`: copies rows and pictures into a new folder while the studio runs. Returns the exit code. */
export async function backup(args: string[]): Promise<number> {
  const options = { to: { type: "string", default: "" } } as const;
  const flags = parseFlags({ args, options, required: ["to"], usage: backupUsage });
  if (!flags) return 1;
  return withDatabase(async ({ env, signal, onProgress, say }) => {
    const databaseUrl = env.DATABASE_DIRECT_URL ?? env.DATABASE_URL;
    const disk = await openDisk(env);
    try {
      const made = await backUp({ databaseUrl, disk, folder: flags.to, signal, onProgress });
      const { pictures, damaged, tables } = made;
      const rows = tables.reduce((sum, table) => sum + table.rows, 0);
      const mb = (pictures.totalBytes / 1e6).toFixed(1);
      say(`Done: ${rows} rows and ${pictures.objects} files of pictures (${mb} MB) in ${flags.to}`);
      say("It holds password hashes and sessions: keep it as safe as the studio itself.");
      if (damaged.length > 0)
        console.error(`Missing or damaged in the image store before the backup: ${damaged.join(", ")}`);
    } finally {
      disk.close();
    }
  });
}

const restoreUsage = "Usage: atelier restore --from <folder> [--check] [--skip-damaged] [--take-over-store]";

/** `atelier restore`: fills an empty studio from a backup, or only checks the backup. Returns the exit code. */
export async function restore(args: string[]): Promise<number> {
  const flags = parseFlags({
    args,
    options: {
      from: { type: "string", default: "" },
      check: { type: "boolean", default: false },
      "skip-damaged": { type: "boolean", default: false },
      "take-over-store": { type: "boolean", default: false },
    },
    required: ["from"],
    usage: restoreUsage,
  });
  if (!flags) return 1;
  const { from: folder } = flags;
  if (flags.check) return stoppable((terminal) => check(folder, terminal));
  return withDatabase(async ({ env, signal, onProgress, say }) => {
    const disk = await openDisk(env);
    try {
      const restored = await restoreStudio({
        databaseUrl: env.DATABASE_DIRECT_URL ?? env.DATABASE_URL,
        disk,
        folder,
        skipsDamaged: flags["skip-damaged"],
        takesOver: flags["take-over-store"],
        signal,
        onProgress,
        withServices: (work) => withServices(env, work),
      });
      const { manifest, skipped, requeued, failed, unreadable } = restored;
      say(`Done: the studio of ${manifest.createdAt}.`);
      if (skipped > 0) say(`Damaged in the backup and left out: ${skipped} pictures`);
      if (requeued > 0) say(`Ran then and wait again: ${requeued} jobs`);
      if (failed > 0) say(`Ran then, may run only once and have failed: ${failed} jobs`);
      if (unreadable.factors + unreadable.webhooks > 0) say(otherSecret(unreadable));
    } finally {
      disk.close();
    }
  });
}

const otherSecret = ({ factors, webhooks }: { readonly factors: number; readonly webhooks: number }) =>
  `Cannot be read, since AUTH_SECRET is another one than the studio's that was backed up: the second factors of ${factors} accounts, which cannot sign in, and the secrets of ${webhooks} webhooks. Set that secret (without one of your own it is in secrets/auth-secret of that studio's data folder), or reset them: atelier users reset-factors.`;

async function check(folder: string, { signal, onProgress, say }: Terminal): Promise<void> {
  const { manifest, damaged } = await checkBackup({ folder, signal, onProgress });
  if (damaged > 0) throw new Error(`${damaged} pictures are damaged in the backup.`);
  say(`The backup of ${manifest.createdAt} is whole: ${manifest.pictures.objects} files of pictures.`);
}

interface Terminal {
  /** Aborted by Ctrl+C and SIGTERM. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BackupProgress) => void;
  /** Prints a line of the outcome. */
  readonly say: (line: string) => void;
}

const printMs = 500;

/** On a terminal one line that is written again and again, elsewhere nothing: mails of timers stay short. */
function createProgress() {
  let printedAtMs = 0;
  let isOpen = false;
  return {
    show: ({ what, done, total }: BackupProgress) => {
      if (!process.stderr.isTTY || performance.now() - printedAtMs < printMs) return;
      printedAtMs = performance.now();
      isOpen = true;
      process.stderr.write(`\r\u001b[K${what}: ${done} of ${total}`);
    },
    end: () => {
      if (isOpen) process.stderr.write("\r\u001b[K");
      isOpen = false;
    },
  };
}

async function stoppable(action: (terminal: Terminal) => Promise<void>): Promise<number> {
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, onSignal);
  const progress = createProgress();
  try {
    const say = (line: string) => {
      progress.end();
      console.log(line);
    };
    await action({ signal: stop.signal, onProgress: progress.show, say });
    return 0;
  } catch (error) {
    progress.end();
    console.error(stop.signal.aborted ? "Stopped." : messageOf(error));
    return stop.signal.aborted ? 130 : 1;
  } finally {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.removeListener(name, onSignal);
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const reason = isAppError(error) && error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${error.message || error.name}${reason}`;
}

/** Opens the database as it is: a backup changes nothing, and a restore needs it without tables. */
async function withDatabase(
  action: (given: Terminal & Pick<OpenDatabase, "env">) => Promise<void>,
): Promise<number> {
  const { problems } = parseEnv(process.env);
  for (const { name, message } of problems) console.error(`${name} ${message}`);
  if (problems.length > 0) return 1;
  return stoppable(async (terminal) => {
    const { env, close } = await openDatabase();
    try {
      await action({ ...terminal, env });
    } finally {
      await close();
    }
  });
}

async function withServices(
  env: OpenDatabase["env"],
  work: (services: Services) => Promise<void>,
): Promise<void> {
  const config = await loadConfig(env.ATELIER_CONFIG);
  const services = await openServices({ env: { ...env, LOG_LEVEL: "silent" }, config, name: "restore" });
  try {
    await work(services);
  } finally {
    await services.close();
  }
}
