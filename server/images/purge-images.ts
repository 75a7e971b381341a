import type { Services } from "../services/index.ts";
import { deleteUnusedRows } from "./delete-rows.ts";
import { discardObjects } from "./discard-output.ts";

/** Removes pictures for good, rows first; those that a job still has, or that bear a star, stay. Returns how many went. */
export async function purgeImages(
  services: Pick<Services, "db" | "disk" | "log">,
  ids: readonly string[],
): Promise<number> {
  const storageKeys = await services.db.transaction((tx) => deleteUnusedRows(tx, ids));
  await discardObjects(services, storageKeys);
  return storageKeys.length;
}
