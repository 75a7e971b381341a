import { api } from "../client/api.ts";
import { viewerTimezone } from "../client/queries.ts";
import type { ListedImage } from "./stack.tsx";

type Filters = Pick<Parameters<typeof api.images.list.query>[0] & object, "search" | "jump">;

/** The server's limit. */
const pageSize = 500;

/** The gallery's list page by page, from its beginning or a jump on, also what the page of the gallery has not read. */
export async function* pagesOf(filters: Filters, signal?: AbortSignal): AsyncGenerator<ListedImage[]> {
  let cursor: string | undefined;
  do {
    const asked = { ...filters, timezone: viewerTimezone(), stacks: true, cursor, limit: pageSize };
    const page: Awaited<ReturnType<typeof api.images.list.query>> = await api.images.list.query(asked, {
      signal,
    });
    yield page.items;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}
