"use client";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { api } from "../../client/api.ts";
import { byCursor, keys, retryLoad } from "../../client/queries.ts";
import { DeliveryList } from "../../deliveries/delivery-list.tsx";
import { TextFilter, useSearchFilter } from "../../parts/filters.tsx";
import { LoadFailed } from "../../parts/page-parts.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/display.tsx";
import { SelectFilter } from "../controls.tsx";
import { Loading } from "../parts.tsx";

const states = ["waiting", "sending", "delivered", "failed"] as const;
const channels = ["webhook", "email", "telegram"] as const;
const refetchMs = 5_000;

/** The filters in the URL; unknown values are left out. */
function useSearch() {
  const { params } = useSearchFilter();
  return {
    query: params.get("query")?.trim() ?? "",
    state: states.find((state) => state === params.get("state")),
    channel: channels.find((channel) => channel === params.get("channel")),
  };
}

function Filters() {
  const t = useTranslations("admin.deliveries");
  const d = useTranslations("deliveries");
  return (
    <div className="grid grid-cols-2 gap-2 md:max-w-[720px] md:grid-cols-[2fr_1fr_1fr]">
      <TextFilter
        name="query"
        label={t("search")}
        placeholder={t("searchHint")}
        className="max-md:col-span-2"
        isSearch
      />
      <SelectFilter
        name="state"
        label={t("state")}
        options={states.map((value) => ({ value, label: d(`states.${value}`) }))}
      />
      <SelectFilter
        name="channel"
        label={t("channel")}
        options={channels.map((value) => ({ value, label: d(`channels.${value}`) }))}
      />
    </div>
  );
}

/** The admin's search of deliveries of all users, read again every five seconds. */
export function Deliveries() {
  const t = useTranslations("admin.deliveries");
  const search = useSearch();
  const query = useInfiniteQuery({
    queryKey: keys.deliverySearch(search),
    queryFn: ({ pageParam }) =>
      api.admin.deliveries.search.query({ ...search, ...(pageParam === null ? {} : { cursor: pageParam }) }),
    ...byCursor,
    refetchInterval: refetchMs,
    placeholderData: keepPreviousData,
  });
  const items = query.data?.pages.flatMap((page) => page.items);
  return (
    <div className="flex flex-col gap-6">
      <Filters />
      {items === undefined && query.error !== null ? (
        <LoadFailed error={query.error} onRetry={() => retryLoad(query)} />
      ) : null}
      {items === undefined && query.error === null ? <Loading /> : null}
      {items?.length === 0 ? <EmptyState title={t("none")} text={t("noneText")} /> : null}
      {items && items.length > 0 ? (
        // A row opens to the history of its attempts.
        <DeliveryList label={t("list")} items={items} isAdmin />
      ) : null}
      {query.hasNextPage ? (
        <Button className="self-start" disabled={query.isFetching} onClick={() => void query.fetchNextPage()}>
          {t("more")}
        </Button>
      ) : null}
    </div>
  );
}
