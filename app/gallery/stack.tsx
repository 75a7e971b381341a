"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Layers } from "lucide-react";
import { api } from "../client/api.ts";
import { byCursor, keys } from "../client/queries.ts";

/** A picture of the gallery's list; `stackSize` is null in lists that show no stacks. */
export type ListedImage = Awaited<ReturnType<typeof api.images.list.query>>["items"][number];

/** By what a tile is chosen: its stack, on top of which another picture may come; in lists that show no stacks, as the trash, the picture. */
export const tileKey = ({
  id,
  stackId,
  stackSize,
}: Pick<ListedImage, "id" | "stackId" | "stackSize">): string => (stackSize === null ? id : stackId);

const pageSize = 100;

const readPage = (stackId: string, cursor: string | null, limit = pageSize) =>
  api.images.list.query({ stackId, limit, cursor: cursor ?? undefined });

/** The ids of the newest pictures of a stack. */
export async function readStackStart(stackId: string, most: number): Promise<string[]> {
  return (await readPage(stackId, null, most)).items.map(({ id }) => id);
}

/** The ids of all pictures of stacks, also of those that no list has read. */
export async function readStackIds(stackIds: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const stackId of stackIds) {
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof readPage>> = await readPage(stackId, cursor);
      ids.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
  }
  return ids;
}

/** The pictures of a stack, newest first, page by page; null reads nothing. */
export function useStack(stackId: string | null) {
  return useInfiniteQuery({
    queryKey: keys.imageList({ stackId }),
    queryFn: ({ pageParam }) => readPage(stackId ?? "", pageParam),
    ...byCursor,
    enabled: stackId !== null,
  });
}

/** How many pictures a tile stands for. */
export function StackBadge({ size }: { readonly size: number }) {
  return (
    <span
      aria-hidden
      className="tabular pointer-events-none absolute top-1.5 inset-e-1.5 flex h-5 items-center gap-1 rounded-full bg-black/60 px-1.5 text-[11px] font-medium text-white"
    >
      <Layers className="size-3" />
      {size}
    </span>
  );
}
