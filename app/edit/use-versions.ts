"use client";
import { useCallback, useState } from "react";

interface Versions {
  readonly ids: readonly string[];
  readonly currentId: string;
  /** The version on the left while two are compared; null otherwise. */
  readonly baseId: string | null;
}

function withId(ids: readonly string[], id: string): readonly string[] {
  return ids.includes(id) ? ids : [...ids, id];
}

/** The picture and what became of it in this session, oldest first. */
export function useVersions(firstId: string) {
  const [versions, setVersions] = useState<Versions>({ ids: [firstId], currentId: firstId, baseId: null });
  const add = useCallback((id: string) => setVersions((now) => ({ ...now, ids: withId(now.ids, id) })), []);
  /** Adds it, too, when it is not there yet. */
  const show = useCallback(
    (id: string) => setVersions(({ ids }) => ({ ids: withId(ids, id), currentId: id, baseId: null })),
    [],
  );
  /** While comparing, a click on a version puts it on the left. */
  const choose = useCallback(
    (id: string) =>
      setVersions((now) => {
        if (now.baseId === null) return { ...now, currentId: id };
        return id === now.currentId ? now : { ...now, baseId: id };
      }),
    [],
  );
  const toggleCompare = useCallback(
    () =>
      setVersions((now) => {
        if (now.baseId !== null) return { ...now, baseId: null };
        const at = now.ids.indexOf(now.currentId);
        return { ...now, baseId: now.ids[at - 1] ?? now.ids[at + 1] ?? null };
      }),
    [],
  );
  return { ...versions, add, show, choose, toggleCompare };
}

export type VersionHistory = ReturnType<typeof useVersions>;
