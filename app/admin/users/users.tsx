"use client";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { CircleUserRound, Cpu, ShieldCheck, Trash2, UserRoundX, VenetianMask } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import type { UserFigures } from "@atelier/server/monitoring";
import { api } from "../../client/api.ts";
import { byCursor, canLoadMore, retryLoad } from "../../client/queries.ts";
import { FilterChip, FilterChips, TextFilter, useSearchFilter } from "../../parts/filters.tsx";
import { LoadFailed } from "../../parts/page-parts.tsx";
import { EmptyState } from "../../ui/display.tsx";
import { Checkbox } from "../../ui/fields.tsx";
import { useNearEnd } from "../../ui/scrolling.ts";
import { toastDone } from "../../ui/toasts.tsx";
import { useAdminAction } from "../controls.tsx";
import { Loading, StateChip, useAgo, useSize } from "../parts.tsx";
import { Cell, Row, Table, wideOnlyCell } from "../table.tsx";

const icons = { admin: ShieldCheck, user: CircleUserRound, guest: VenetianMask, service: Cpu } as const;
/** The server counts up to this number; a larger one shows as "1,000+". */
const maxCounted = 1_000;

/** Role and, unless the user is active, the state. */
export function UserChips({ user: { role, state } }: { readonly user: UserFigures }) {
  const t = useTranslations("admin.users");
  return (
    <span className="flex flex-wrap gap-1.5">
      <StateChip icon={icons[role]} tone={role === "admin" ? "info" : "quiet"}>
        {t(`roles.${role}`)}
      </StateChip>
      {state === "active" ? null : (
        <StateChip icon={state === "deleted" ? Trash2 : UserRoundX} tone="fail">
          {t(`states.${state}`)}
        </StateChip>
      )}
    </span>
  );
}

function UserRow({ user }: { readonly user: UserFigures }) {
  const t = useTranslations("admin.users");
  const format = useFormatter();
  const ago = useAgo();
  const size = useSize();
  const count = (value: number) =>
    value >= maxCounted ? t("more", { count: format.number(maxCounted) }) : format.number(value);
  return (
    <Row>
      <Cell label={t("name")} isHead>
        <Link
          href={`/admin/users/${user.id}`}
          className="block max-w-96 truncate md:max-xl:max-w-56 font-medium underline-offset-4 hover:underline"
        >
          {user.name === "" ? t("nameless") : user.name}
        </Link>
        <span className="block max-w-96 truncate md:max-xl:max-w-56 text-quiet">{user.email ?? user.id}</span>
      </Cell>
      <Cell label={t("role")}>
        <UserChips user={user} />
      </Cell>
      <Cell label={t("space")} isNumeric>
        {t("used", { used: size(user.usedBytes), limit: size(user.limitBytes) })}
      </Cell>
      <Cell label={t("open")} isNumeric>
        {user.openJobs}
      </Cell>
      <Cell label={t("jobs")} isNumeric>
        <Link href={`/admin/jobs?owner=${user.id}`} className="underline underline-offset-4">
          {count(user.jobs)}
          <span className="sr-only">{` · ${t("showJobs", { name: user.name })}`}</span>
        </Link>
      </Cell>
      <Cell label={t("pictures")} isNumeric>
        {count(user.images)}
      </Cell>
      <Cell label={t("joined")} isNumeric className={wideOnlyCell}>
        {format.dateTime(new Date(user.createdAt), { dateStyle: "medium" })}
      </Cell>
      <Cell label={t("seen")} isNumeric>
        {user.seenMs === null ? t("never") : ago(user.seenMs)}
      </Cell>
    </Row>
  );
}

function UserTable({ users }: { readonly users: readonly UserFigures[] }) {
  const t = useTranslations("admin.users");
  return (
    <Table
      caption={t("caption")}
      columns={[
        t("name"),
        t("role"),
        t("space"),
        t("open"),
        t("jobs"),
        t("pictures"),
        t("joined"),
        t("seen"),
      ]}
      numeric={[2, 3, 4, 5, 6, 7]}
      wideOnly={[6]}
    >
      {users.map((user) => (
        <UserRow key={user.id} user={user} />
      ))}
    </Table>
  );
}

const roles = ["admin", "user", "guest"] as const;
/** Seldom: the space of each user is summed up. */
const refetchMs = 15_000;

/** The users that match the filters in the URL. Refetched on the first page only, so that rows further down do not move. */
function useUsers() {
  const { params } = useSearchFilter();
  const search = params.get("search")?.trim() ?? "";
  const role = roles.find((name) => name === params.get("role"));
  const state = params.get("state") === "suspended" ? "suspended" : undefined;
  const query = useInfiniteQuery({
    queryKey: ["admin", "users", search, role, state],
    queryFn: ({ pageParam }) =>
      api.admin.users.list.query({
        role,
        state,
        search: search || undefined,
        cursor: pageParam ?? undefined,
      }),
    ...byCursor,
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.pages.length ?? 0) <= 1 && refetchMs,
  });
  return { query, role, state };
}

/** Whether admins need a second factor; takes effect at once. */
export function FactorRule() {
  const t = useTranslations("admin.users");
  const { data } = useQuery({
    queryKey: ["admin", "factor-rule"],
    queryFn: () => api.admin.users.readFactorRule.query(),
  });
  const change = useAdminAction(async (isNeeded: boolean) => {
    await api.admin.users.setFactorRule.mutate({ isNeeded });
    toastDone(t(isNeeded ? "factorRuleOn" : "factorRuleOff"));
  });
  if (data === undefined) return null;
  return (
    <div className="flex max-w-[60ch] flex-col gap-1">
      <Checkbox checked={data.isNeeded} disabled={change.isPending} onChange={(is) => change.mutate(is)}>
        <span className="text-sm text-ink">{t("factorRule")}</span>
        <span className="block">{t("factorRuleText")}</span>
      </Checkbox>
    </div>
  );
}

/** The table of accounts and guests with their filters. */
export function UserList() {
  const t = useTranslations("admin.users");
  const { query, role, state } = useUsers();
  const endRef = useNearEnd(() => void query.fetchNextPage(), canLoadMore(query));
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
          <FilterChip name="state" value="suspended" pressed={state === "suspended"}>
            {t("states.suspended")}
          </FilterChip>
        </FilterChips>
      </div>
      {query.error === null ? null : <LoadFailed error={query.error} onRetry={() => retryLoad(query)} />}
      {users === undefined && query.error === null ? <Loading /> : null}
      {users?.length === 0 ? <EmptyState title={t("emptyTitle")} text={t("emptyText")} /> : null}
      {users === undefined || users.length === 0 ? null : <UserTable users={users} />}
      <div ref={endRef} className="h-2" />
    </div>
  );
}
