import {
  type InvalidateOptions,
  type InvalidateQueryFilters,
  type Query,
  QueryClient,
  type QueryKey,
} from "@tanstack/react-query";
import { failureOf } from "../ui/failures.ts";
import { forgetSession } from "./session.ts";

/** One retry, none for `not_found` and `bad_request`. Before the retry of `unauthorized` the session is dropped. */
function mayRetry(failures: number, error: unknown): boolean {
  const { code } = failureOf(error);
  if (code === "unauthorized") forgetSession();
  return failures < 1 && code !== "not_found" && code !== "bad_request";
}

const isFirstRead = ({ state }: Query) => state.data === undefined && state.fetchStatus === "fetching";

/**
 * Reads anew also what is being read for the first time while it changes. Without this that read would count as fresh,
 * although the server may have answered before the change. It is not broken off, so that frequent changes cannot keep
 * it from ever being shown.
 */
class StudioQueryClient extends QueryClient {
  readonly #readAgain = new WeakSet<Query>();

  override async invalidateQueries<Key extends QueryKey = QueryKey>(
    filters?: InvalidateQueryFilters<Key>,
    options?: InvalidateOptions,
  ): Promise<void> {
    const first = this.getQueryCache()
      .findAll(filters)
      .filter((query) => isFirstRead(query) && !this.#readAgain.has(query));
    for (const query of first) this.#readAgain.add(query);
    await super.invalidateQueries(filters, options);
    if (first.length === 0) return;
    await Promise.allSettled(first.map(async ({ promise }) => await promise));
    for (const query of first) this.#readAgain.delete(query);
    const refetchType = filters?.refetchType ?? "active";
    await super.invalidateQueries({ predicate: (query) => first.includes(query), refetchType }, options);
  }
}

/**
 * A failed query is retried once. Data counts as fresh for 30 s; job queries are also invalidated by the live stream. An action
 * without a network fails at once. By default it would wait for the network and then run, and be paid, without the user.
 */
export function createQueryClient(): QueryClient {
  return new StudioQueryClient({
    defaultOptions: {
      queries: { staleTime: 30_000, refetchOnWindowFocus: false, retry: mayRetry },
      mutations: { retry: false, networkMode: "always" },
    },
  });
}
