import { checkStore, otherStoreReason, type StoreState } from "@atelier/server/images";
import { noteProblem, spaceProblem, storeProblem } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import { minFreeFiles, probeWrites, readFreeSpace } from "@atelier/server/storage";
import type { Incarnation } from "./base/index.ts";
import { startLoop, type Loop } from "./base/loop.ts";

/** Whether this worker may take another job: its disk has room for the files, and it reaches the studio's image store. */
export interface Readiness {
  isReady(): boolean;
  /** Null before the first check, and while the data folder cannot be read or written. */
  freeBytes(): number | null;
  /** Null also where the disk has no such limit. */
  freeFiles(): number | null;
  hasSpace(): boolean;
  store(): StoreState;
  /** Checks again: the space each time, the store every `timing.probeMs`, each half minute that files can be written. */
  refresh(): Promise<void>;
}

/** A write wakes a disk that sleeps. */
const writeMs = 30_000;

type ReadinessServices = Pick<Services, "env" | "config" | "log" | "db" | "disk">;

export function createReadiness(services: ReadinessServices): Readiness {
  const { log, config } = services;
  let hasSpace = true;
  let freeBytes: number | null = null;
  let freeFiles: number | null = null;
  let writtenAtMs = -Infinity;
  // Nothing is claimed before the first answer.
  let store: StoreState = "away";
  let storeCheckedAtMs = -Infinity;
  async function refreshSpace(): Promise<void> {
    const found = await readSpace().catch((error: unknown) => {
      log[hasSpace ? "warn" : "debug"]({ err: error }, "the data folder cannot be read or written");
      return { freeBytes: null, freeFiles: null, isEnough: false };
    });
    if (found.isEnough !== hasSpace) logSpace(services, found);
    ({ isEnough: hasSpace, freeBytes, freeFiles } = found);
  }
  async function readSpace() {
    const found = await readFreeSpace(services);
    // What is full anyway is not filled further.
    if (found.isEnough && performance.now() - writtenAtMs >= writeMs) {
      await probeWrites(services);
      writtenAtMs = performance.now();
    }
    return found;
  }
  async function refreshStore(): Promise<void> {
    if (performance.now() - storeCheckedAtMs < config.timing.probeMs) return;
    storeCheckedAtMs = performance.now();
    const found = await checkStore(services);
    if (found !== store) logStore(services, found);
    store = found;
  }
  return {
    isReady: () => hasSpace && store === "own",
    freeBytes: () => freeBytes,
    freeFiles: () => freeFiles,
    hasSpace: () => hasSpace,
    store: () => store,
    async refresh() {
      await refreshSpace();
      await refreshStore();
    },
  };
}

type Space = Pick<Awaited<ReturnType<typeof readFreeSpace>>, "isEnough" | "freeFiles"> & {
  readonly freeBytes: number | null;
};

function logSpace({ log }: ReadinessServices, { isEnough, freeBytes, freeFiles }: Space): void {
  if (isEnough) log.info({ freeBytes, freeFiles }, "there is space again, jobs are taken");
  else log.warn({ freeBytes, freeFiles }, "the disk is almost full or takes no files, no job is taken");
}

function logStore({ log }: ReadinessServices, store: StoreState): void {
  if (store === "own") log.info("the image store is there, jobs are taken");
  else log.warn({ store, reason: storeReason(store) }, "no job is taken without the studio's image store");
}

function storeReason(store: StoreState): string {
  if (store === "other") return otherStoreReason;
  return "The image store cannot be reached; the worker takes jobs again when it answers.";
}

interface WatchInput {
  readonly readiness: Readiness;
  readonly incarnation: Pick<Incarnation, "current">;
}

/** Checks every second, and stores a problem of the node for each reason why it takes no jobs. */
export function startReadinessWatch(services: Services, { readiness, incarnation }: WatchInput): Loop {
  const { log, config } = services;
  const noted = new Set<string>();
  const note = async (nodeId: string, what: string, reason: string | null) => {
    if (reason === null && !noted.has(what)) return;
    await noteProblem(services, nodeId, { what, reason });
    if (reason === null) noted.delete(what);
    else noted.add(what);
  };
  return startLoop(log, "readiness", async () => {
    await readiness.refresh();
    const node = incarnation.current();
    if (node) {
      await note(node.id, spaceProblem, readiness.hasSpace() ? null : spaceReason(services, readiness));
      const store = readiness.store();
      await note(node.id, storeProblem, store === "own" ? null : storeReason(store));
    }
    return config.timing.cancelPollMs;
  });
}

function spaceReason({ config }: Services, readiness: Readiness): string {
  const inMb = (bytes: number) => Math.floor(bytes / 1024 ** 2);
  const freeBytes = readiness.freeBytes();
  if (freeBytes === null) return "The data folder of this worker cannot be read or written.";
  const freeFiles = readiness.freeFiles();
  if (freeFiles !== null && freeFiles < minFreeFiles)
    return `The disk takes only ${freeFiles} more files (inodes); the worker takes jobs again from ${minFreeFiles}.`;
  const wanted = inMb(config.limits.minFreeBytes);
  return `Only ${inMb(freeBytes)} MB are free; the worker takes jobs again from ${wanted} MB.`;
}
