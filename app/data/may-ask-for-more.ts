export interface MoreQuery {
  readonly hasNextPage: boolean;
  readonly isFetching: boolean;
  readonly isFetchNextPageError: boolean;
  fetchNextPage(): unknown;
  refetch(): unknown;
}

/** Whether the end of a list may ask for its next page by itself; one that failed waits for the reader. */
export function mayAskForMore(query: Omit<MoreQuery, "fetchNextPage" | "refetch">): boolean {
  return query.hasNextPage && !query.isFetching && !query.isFetchNextPageError;
}

/** Asks again for what failed: the next page, or the list itself. */
export function askAgain(query: Pick<MoreQuery, "isFetchNextPageError" | "fetchNextPage" | "refetch">): void {
  void (query.isFetchNextPageError ? query.fetchNextPage() : query.refetch());
}
