"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Layers } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useRef } from "react";
import type { ImageView } from "@atelier/server/images";
import { api } from "../client/api.ts";
import { byCursor, canLoadMore, keys } from "../client/queries.ts";
import { imageUrl } from "../client/urls.ts";
import { useImageName } from "../pictures/picture.tsx";
import { useNearEnd } from "../ui/hooks.ts";

/** A picture of the gallery's list; `stackSize` is null in lists that show no stacks. */
export type ListedImage = Awaited<ReturnType<typeof api.images.list.query>>["items"][number];

const pageSize = 100;

const readPage = (stackId: string, cursor: string | null) =>
  api.images.list.query({ stackId, limit: pageSize, cursor: cursor ?? undefined });

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

interface StackStripProps {
  readonly stack: ReturnType<typeof useStack>;
  readonly members: readonly ImageView[];
  readonly shownId: string;
  readonly onShow: (id: string) => void;
}

/** All pictures of the stack of the picture in the viewer. */
export function StackStrip({ stack, members, shownId, onShow }: StackStripProps) {
  const t = useTranslations("viewer");
  const nameOf = useImageName();
  const end = useNearEnd(() => void stack.fetchNextPage(), canLoadMore(stack));
  const shown = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    shown.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [shownId]);
  return (
    <ol
      aria-label={t("stack")}
      className="no-scrollbar flex h-17 shrink-0 items-center gap-1.5 overflow-x-auto px-3 [justify-content:safe_center]"
    >
      {members.map((image) => (
        <li key={image.id} className="shrink-0">
          <button
            ref={image.id === shownId ? shown : null}
            type="button"
            aria-label={nameOf(image)}
            aria-current={image.id === shownId ? "true" : undefined}
            onClick={() => onShow(image.id)}
            className="block size-12 overflow-hidden rounded-control opacity-70 ring-1 ring-line transition-opacity duration-120 hover:opacity-100 aria-[current=true]:opacity-100 aria-[current=true]:ring-2 aria-[current=true]:ring-ink"
          >
            <img
              src={imageUrl(image.id, "thumbnail")}
              alt=""
              loading="lazy"
              className="size-full object-cover"
            />
          </button>
        </li>
      ))}
      <li aria-hidden className="shrink-0">
        <div ref={end} className="h-12 w-px" />
      </li>
    </ol>
  );
}
