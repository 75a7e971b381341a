import type { ObjectInfo, ObjectInfoByClass } from "@atelier/server/workflows";

export interface ObjectInfoCacheInput {
  readonly ttlMs: number;
  /** Whether open jobs wait for what the class lists, a model file for instance. */
  readonly isAwaited: (nodeClass: string) => boolean;
  readonly now: () => number;
  /** Null: the server does not have the class. Undefined: it did not say. */
  readonly read: (nodeClass: string, signal: AbortSignal) => Promise<ObjectInfo | null | undefined>;
}

export interface ObjectInfoCache {
  /** The asked classes; those that are not known or too old are read, a few at once. */
  get(classes: readonly string[], version: string | null, signal: AbortSignal): Promise<ObjectInfoByClass>;
  clear(): void;
}

const readsAtOnce = 6;
const awaitedTtlMs = 20_000;

/** Remembers what one server said about node classes, for one version of it and a limited time. */
export function createObjectInfoCache({
  ttlMs,
  isAwaited,
  now,
  read,
}: ObjectInfoCacheInput): ObjectInfoCache {
  const byClass = new Map<string, { readonly info: ObjectInfo | null; readonly readAtMs: number }>();
  let knownVersion: string | null = null;
  const isFresh = (name: string) => {
    const known = byClass.get(name);
    const limitMs = isAwaited(name) ? Math.min(ttlMs, awaitedTtlMs) : ttlMs;
    return known !== undefined && now() - known.readAtMs < limitMs;
  };
  return {
    async get(classes, version, signal) {
      if (version !== knownVersion) byClass.clear();
      knownVersion = version;
      const waiting = classes.filter((name) => !isFresh(name));
      const readOn = async () => {
        for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
          const info = await read(name, signal);
          // What it said before holds, and it is asked again by the next `get`.
          if (info !== undefined) byClass.set(name, { info, readAtMs: now() });
        }
      };
      await Promise.all(Array.from({ length: readsAtOnce }, readOn));
      return new Map(classes.map((name) => [name, byClass.get(name)?.info ?? null]));
    },
    clear: () => byClass.clear(),
  };
}
