import { noteLowSpace } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import { readFreeSpace } from "@atelier/server/storage";
import type { Incarnation } from "./presence.ts";
import { startLoop, type Loop } from "./loop.ts";

/** Whether this worker's disk has room for the files of another job. */
export interface Space {
  isEnough(): boolean;
  /** Null before the first check, and while the data folder cannot be read. */
  freeBytes(): number | null;
  /** Checks again. */
  refresh(): Promise<void>;
}

type SpaceServices = Pick<Services, "env" | "config" | "log">;

export function createSpace(services: SpaceServices): Space {
  let isEnough = true;
  let freeBytes: number | null = null;
  return {
    isEnough: () => isEnough,
    freeBytes: () => freeBytes,
    async refresh() {
      const found = await readFreeSpace(services).catch((error: unknown) => {
        services.log.warn({ err: error }, "the free space of the data folder cannot be read");
        return { freeBytes: null, isEnough: false };
      });
      if (found.isEnough !== isEnough) logChange(services, found);
      ({ isEnough, freeBytes } = found);
    },
  };
}

function logChange({ log }: SpaceServices, found: { isEnough: boolean; freeBytes: number | null }): void {
  const { freeBytes } = found;
  if (found.isEnough) log.info({ freeBytes }, "there is space again, jobs are taken");
  else log.warn({ freeBytes }, "the disk is almost full, no job is taken");
}

interface WatchInput {
  readonly space: Space;
  readonly incarnation: Pick<Incarnation, "current">;
}

/** Checks the free space every second, and stores a problem of the node while it is too low. */
export function startSpaceWatch(services: Services, { space, incarnation }: WatchInput): Loop {
  const { log, config } = services;
  let isNoted = false;
  return startLoop(log, "space", async () => {
    await space.refresh();
    const node = incarnation.current();
    const isLow = !space.isEnough();
    if (node && (isLow || isNoted)) {
      await noteLowSpace(services, node.id, isLow ? reasonOf(services, space) : null);
      isNoted = isLow;
    }
    return config.timing.cancelPollMs;
  });
}

function reasonOf({ config }: Services, space: Space): string {
  const inMb = (bytes: number) => Math.floor(bytes / 1024 ** 2);
  const freeBytes = space.freeBytes();
  if (freeBytes === null) return "The data folder of this worker cannot be read.";
  const wanted = inMb(config.limits.minFreeBytes);
  return `Only ${inMb(freeBytes)} MB are free; the worker takes jobs again from ${wanted} MB.`;
}
