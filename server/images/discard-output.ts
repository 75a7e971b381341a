import type { Services } from "../services/index.ts";
import { removePrefix } from "../storage/index.ts";

/** Removes what `storeOutput` wrote. Never throws: what cannot be removed now is left to the sweep of orphan objects. */
export async function discardOutput(
  services: Pick<Services, "disk" | "log">,
  storageKey: string,
): Promise<void> {
  await discardObjects(services, [storageKey]);
}

/** The same for several key prefixes. */
export async function discardObjects(
  services: Pick<Services, "disk" | "log">,
  storageKeys: readonly string[],
): Promise<void> {
  for (const storageKey of storageKeys) {
    try {
      await removePrefix(services.disk, storageKey);
    } catch (error) {
      services.log.warn({ err: error, storageKey }, "objects left to the orphan sweep");
    }
  }
}
