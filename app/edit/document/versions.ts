"use client";
import { useCallback, useMemo, useState } from "react";
import { type OpenEdit, type Version } from "./state.ts";
import type { EditStore } from "./store.ts";

/** A version with its place in the strip. */
export interface PlacedVersion extends Version {
  /** By the order of making, from 1. */
  readonly number: number;
  /** Number of the version that it was made of, where that one does not stand before it in the strip. */
  readonly branchOf: number | null;
  /** The current version is this one or was made of it. */
  readonly isOnPath: boolean;
}

/** A version and all that it was made of. */
function pathTo(versions: readonly Version[], currentId: string): ReadonlySet<string> {
  const parentOf = new Map(versions.map(({ imageId, parentId }) => [imageId, parentId]));
  const path = new Set<string>();
  for (let id: string | null = currentId; id !== null && !path.has(id); id = parentOf.get(id) ?? null)
    path.add(id);
  return path;
}

/** The tree as a row: each version before what was made of it, the latest branch last. */
export function placeVersions({ versions, currentId }: Pick<OpenEdit, "versions" | "currentId">) {
  const numberOf = new Map(versions.map(({ imageId }, at) => [imageId, at + 1]));
  const children = Map.groupBy(versions, ({ parentId }) => parentId);
  const path = pathTo(versions, currentId);
  const placed: PlacedVersion[] = [];
  const waiting = [...(children.get(null) ?? [])].toReversed();
  for (let version = waiting.pop(); version !== undefined; version = waiting.pop()) {
    const { imageId, parentId } = version;
    const isNext = parentId === (placed.at(-1)?.imageId ?? null);
    placed.push({
      ...version,
      number: numberOf.get(imageId) ?? 0,
      branchOf: isNext || parentId === null ? null : (numberOf.get(parentId) ?? null),
      isOnPath: path.has(imageId),
    });
    waiting.push(...(children.get(imageId) ?? []).toReversed());
  }
  return placed;
}

/** The versions of an edit, the one on the stage, and the one that it is compared with. */
export function useVersions(store: EditStore, edit: OpenEdit) {
  const { versions, currentId } = edit;
  const [compared, setCompared] = useState<string | null>(null);
  const placed = useMemo(() => placeVersions({ versions, currentId }), [currentId, versions]);
  const known = placed.some(({ imageId }) => imageId === compared);
  const baseId = known && compared !== currentId ? compared : null;
  const show = useCallback(
    (id: string) => {
      setCompared(null);
      store.update((now) => (now.currentId === id ? now : { ...now, currentId: id }));
    },
    [store],
  );
  /** For a version that was deleted: shows what it was made of. */
  const showParent = useCallback(
    (id: string) =>
      store.update((now) => {
        const parentId = now.versions.find(({ imageId }) => imageId === id)?.parentId ?? null;
        return parentId === null || now.currentId !== id ? now : { ...now, currentId: parentId };
      }),
    [store],
  );
  /** Shows a version; while comparing, it becomes the left one. */
  const choose = (id: string) => (baseId === null ? show(id) : setCompared(id === currentId ? baseId : id));
  const toggleCompare = () => {
    const current = placed.find(({ imageId }) => imageId === currentId);
    const other = placed.find(({ imageId }) => imageId !== currentId)?.imageId ?? null;
    setCompared(baseId === null ? (current?.parentId ?? other) : null);
  };
  return { placed, currentId, baseId, showParent, choose, toggleCompare };
}

export type Versions = ReturnType<typeof useVersions>;
