"use client";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { api } from "../../client/api.ts";
import { askAgain, mayAskForMore } from "../../data/may-ask-for-more.ts";
import { FilterChip, FilterChips } from "../../frame/filter-chips.tsx";
import { LoadFailed } from "../../frame/load-failed.tsx";
import { useSearchFilter } from "../../frame/use-search-filter.ts";
import { EmptyState } from "../../ui/display.tsx";
import { useNearEnd } from "../../ui/hooks.ts";
import { Loading } from "../parts/loading.tsx";
import { TextFilter } from "../../frame/filters.tsx";
import { UserTable } from "./user-table.tsx";

const roles = ["admin", "user", "guest"] as const;
const againMs = 5_000;

function useUsers() {
  const { params } = useSearchFilter();
  const search = params.get("search")?.trim() ?? "";
  const role = roles.find((name) => name === params.get("role"));
  const query = useInfiniteQuery({
    queryKey: ["admin", "users", search, role],
    queryFn: ({ pageParam }) =>
      api.admin.users.query({ role, search: search || undefined, cursor: pageParam ?? undefined }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.pages.length ?? 0) <= 1 && againMs,
  });
  return { query, role };
}

/** Accounts and guests with what they have here; nothing of their passwords. */
export function UserList() {
  const t = useTranslations("admin.users");
  const { query, role } = useUsers();
  const endRef = useNearEnd(() => void query.fetchNextPage(), mayAskForMore(query));
  const users = query.data?.pages.flatMap(({ items }) => items);
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <TextFilter
          name="search"
          label={t("search")}
          placeholder={t("searchHint")}
          isSearch
          className="w-full sm:w-72"
        />
        <FilterChips label={t("filters")}>
          {roles.map((value) => (
            <FilterChip key={value} name="role" value={value} pressed={role === value}>
              {t(`roles.${value}`)}
            </FilterChip>
          ))}
        </FilterChips>
      </div>
      {query.error === null ? null : <LoadFailed error={query.error} onRetry={() => askAgain(query)} />}
      {users === undefined && query.error === null ? <Loading /> : null}
      {users?.length === 0 ? <EmptyState title={t("emptyTitle")} text={t("emptyText")} /> : null}
      {users === undefined || users.length === 0 ? null : <UserTable users={users} />}
      <div ref={endRef} className="h-2" />
    </div>
  );
}
