"use client";
import { type ReactNode } from "react";
import { canLoadMore, type PagedQuery, retryLoad } from "../client/queries.ts";
import { useNearEnd } from "../ui/scrolling.ts";
import { LoadFailed } from "./page-parts.tsx";

interface Props<Item extends { readonly id: string }> {
  readonly label: string;
  readonly query: PagedQuery & { readonly isPending: boolean; readonly error: unknown };
  /** Undefined until the first page is there. */
  readonly items: readonly Item[] | undefined;
  /** Shown above a list without items. */
  readonly empty: ReactNode;
  readonly row: (item: Item) => ReactNode;
}

/** Rows between hairlines that load page by page while their end is near. */
export function PagedList<Item extends { readonly id: string }>({
  label,
  query,
  items,
  empty,
  row,
}: Props<Item>) {
  const endRef = useNearEnd(() => void query.fetchNextPage(), canLoadMore(query));
  return (
    <>
      {items?.length === 0 ? empty : null}
      <ul
        aria-label={label}
        aria-busy={query.isPending}
        className="divide-y divide-line border-y border-line empty:border-0"
      >
        {items?.map((item) => row(item))}
      </ul>
      {query.error === null ? null : <LoadFailed error={query.error} onRetry={() => retryLoad(query)} />}
      <div ref={endRef} className="h-8" />
    </>
  );
}
