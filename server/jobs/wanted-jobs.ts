import type { Services } from "../services/index.ts";
import { readJobsByOwner } from "./live-reads.ts";
import type { JobView } from "./read.ts";

const readAtOnce = 200;

/** Jobs of which a newer revision was heard of: read one batch after another, each job once however often it is wanted. */
export interface WantedJobs {
  add(jobId: string): void;
  /** Reads what is wanted; returns at once while another call reads. */
  read(): Promise<void>;
}

export function createWantedJobs(
  services: Pick<Services, "db" | "log">,
  onRead: (ownerId: string, jobs: readonly JobView[]) => void,
): WantedJobs {
  const wanted = new Set<string>();
  let reading = false;
  return {
    add: (jobId) => void wanted.add(jobId),
    async read() {
      if (reading) return;
      reading = true;
      try {
        while (wanted.size > 0) {
          const ids = [...wanted].slice(0, readAtOnce);
          for (const id of ids) wanted.delete(id);
          for (const [ownerId, jobs] of await readJobsByOwner(services, ids)) onRead(ownerId, jobs);
        }
      } catch (error) {
        services.log.warn({ err: error }, "live jobs not read, the next poll will");
      } finally {
        reading = false;
      }
    },
  };
}
