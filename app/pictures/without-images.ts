import type { ImageView } from "@atelier/server/images";
import type { InfiniteData } from "@tanstack/react-query";

type Pages = InfiniteData<{ readonly items: readonly ImageView[]; readonly nextCursor: string | null }>;

/** Loaded pages of a list less some pictures. */
export function withoutImages(ids: ReadonlySet<string>) {
  return (data: Pages | undefined): Pages | undefined =>
    data && {
      ...data,
      pages: data.pages.map((page) => ({ ...page, items: page.items.filter((image) => !ids.has(image.id)) })),
    };
}
