import { jobKinds, localEngine, maxOutputPixels, type JobKind } from "../engines/index.ts";
import { livePlaces, missingEngineReason } from "../scheduling/index.ts";
import type { Services } from "../services/index.ts";

export interface Capability {
  readonly kind: JobKind;
  readonly available: boolean;
  readonly engine: string | null;
  /** Why it cannot run, or that it waits for a worker; null when all is well. */
  readonly reason: string | null;
}

export interface Capabilities {
  readonly items: readonly Capability[];
  readonly limits: { readonly maxOutputPixels: number };
}

/** What can be asked for now. A kind without a live worker is available, but says that it waits. */
export async function readCapabilities({ db }: Pick<Services, "db">): Promise<Capabilities> {
  const places = await livePlaces(db);
  const items = jobKinds.map((kind): Capability => {
    if (!localEngine.kinds.includes(kind))
      return { kind, available: false, engine: null, reason: missingEngineReason(kind) };
    const isLive = places.some((place) => place.kind === kind);
    const reason = isLive ? null : "No worker is running at the moment; the job will start when one is back.";
    return { kind, available: true, engine: localEngine.name, reason };
  });
  return { items, limits: { maxOutputPixels } };
}
