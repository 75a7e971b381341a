import { randomUUID } from "node:crypto";
import type { ObjectInfo, ObjectInfoByClass } from "@atelier/server/workflows";
import { keepSocket } from "../clients/comfyui/index.ts";
import type { ServerAddress } from "./address.ts";

/*
 * What a server said of its node classes and models is believed for a time, for one version of it, and until it was away.
 * Asking for all of it again at each probe would be hundreds of requests a minute.
 */

export interface ObjectInfoCacheInput {
  readonly ttlMs: number;
  /** Whether open jobs wait for something that the class lists, such as a model file. */
  readonly isAwaited: (nodeClass: string) => boolean;
  readonly now: () => number;
  /** Null: the server does not have the class. Undefined: it gave no answer. */
  readonly read: (nodeClass: string, signal: AbortSignal) => Promise<ObjectInfo | null | undefined>;
}

export interface ObjectInfoCache {
  /** The requested classes; unknown and expired ones are read, a few at once. */
  get(classes: readonly string[], version: string | null, signal: AbortSignal): Promise<ObjectInfoByClass>;
  clear(): void;
}

const readsAtOnce = 6;
const awaitedTtlMs = 20_000;

/** Caches the node classes of one server, for one version of it and a limited time. */
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
          // Without an answer the old value stays, and the next `get` asks again.
          if (info !== undefined) byClass.set(name, { info, readAtMs: now() });
        }
      };
      await Promise.all(Array.from({ length: readsAtOnce }, readOn));
      return new Map(classes.map((name) => [name, byClass.get(name)?.info ?? null]));
    },
    clear: () => byClass.clear(),
  };
}

/**
 * A server tells neither its process nor its start, but a restart ends its sockets: one is kept open for nothing else.
 * Where sockets do not get through, a restart between two probes shows when the cache expires.
 */
export function listenForBreaks(server: ServerAddress, onBack: () => void): () => void {
  let state: "unheard" | "heard" | "broken" = "unheard";
  const socket = keepSocket(server, `atelier-${randomUUID()}`, {
    // It tells its status to each new client.
    onText() {
      const isBack = state === "broken";
      state = "heard";
      socket.markHealthy();
      if (isBack) onBack();
    },
    onBinary: () => undefined,
    onClose() {
      if (state === "heard") state = "broken";
    },
  });
  return () => socket.close();
}
