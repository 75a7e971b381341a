"use client";
import { keepPreviousData, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { usePathname } from "next/navigation";
import type { ReactNode } from "react";
import type { FigureWindow } from "@atelier/server/monitoring";
import { api } from "../client/api.ts";
import { useMe, useMeFailure } from "../client/queries.ts";
import { useSearchFilter } from "../parts/filters.tsx";
import { LoadFailed } from "../parts/page-parts.tsx";
import { Button, buttonStyle, cx } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";
import { Segmented } from "../ui/fields.tsx";
import { useCentred } from "../ui/scrolling.ts";
import { adminPages } from "./pages.ts";
import { Loading } from "./parts.tsx";

function AdminNav() {
  const t = useTranslations("admin");
  const pathname = usePathname();
  const isHere = (href: string) => (href === "/admin" ? pathname === href : pathname.startsWith(href));
  // On a phone the page's own tab may lie outside of the strip.
  const strip = useCentred<HTMLUListElement>("[aria-current=page]", pathname);
  return (
    <nav aria-label={t("navigation")} className="border-b border-line">
      <ul
        ref={strip}
        className="no-scrollbar -mb-px flex gap-5 overflow-x-auto ps-4 pe-8 pt-3 max-wide:mask-r-from-[calc(100%-32px)] sm:ps-6 wide:px-8 wide:pt-5"
      >
        {adminPages.map(({ key, href }) => (
          <li key={key} className="shrink-0">
            <Link
              href={href}
              aria-current={isHere(href) ? "page" : undefined}
              className="flex h-11 items-center border-b-2 border-transparent text-sm text-quiet transition-colors duration-120 hover:text-ink aria-[current=page]:border-ink aria-[current=page]:font-medium aria-[current=page]:text-ink"
            >
              {t(`pages.${key}`)}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

type Me = NonNullable<ReturnType<typeof useMe>>;

interface LackProps {
  readonly me: Pick<Me, "factorProviders" | "hasPassword">;
  readonly what: NonNullable<Me["adminLack"]>;
}

/** What an admin has to do first. */
function Lack({ me: { factorProviders, hasPassword }, what }: LackProps) {
  const t = useTranslations("admin");
  const format = useFormatter();
  const providers = format.list(factorProviders, { type: "disjunction" }) || "none";
  return (
    // An authenticator app is asked for its code after a password alone.
    <EmptyState title={t("lackTitle")} text={t(`lack.${what}`, { app: String(hasPassword), providers })}>
      <Link
        href={hasPassword ? "/settings#two-factors" : "/settings#passkeys"}
        className={buttonStyle("plain")}
      >
        {t("lackTo")}
      </Link>
    </EmptyState>
  );
}

/** Shows the admin pages to admins only. The server checks the role again in each procedure. */
export function AdminGate({ children }: { readonly children: ReactNode }) {
  const t = useTranslations("admin");
  const me = useMe();
  const { error, retry } = useMeFailure();
  if (me === undefined) return error === null ? null : <LoadFailed error={error} onRetry={retry} />;
  if (me?.adminLack) return <Lack me={me} what={me.adminLack} />;
  if (me?.isAdmin !== true)
    return (
      <EmptyState title={t("notAdminTitle")} text={t("notAdminText")}>
        <Link href={me === null || me.isGuest ? "/sign-in" : "/"} className={buttonStyle("plain")}>
          {t(me === null || me.isGuest ? "signIn" : "toStudio")}
        </Link>
      </EmptyState>
    );
  return (
    <>
      <AdminNav />
      {children}
    </>
  );
}

const refetchMs = 2_000;

/** The data of an admin page, fetched again every two seconds, or less often, while the page is visible. */
export function useLiveQuery<T>(
  queryKey: readonly unknown[],
  queryFn: () => Promise<T>,
  refetchInterval = refetchMs,
) {
  return useQuery({
    queryKey: ["admin", ...queryKey],
    queryFn,
    refetchInterval,
    staleTime: 0,
    // When the time window changes, the old figures stay until the new ones arrive.
    placeholderData: keepPreviousData,
  });
}

const names = ["1h", "24h", "7d"] as const satisfies readonly FigureWindow[];

/** The time window in the URL; `1h` by default. */
export function useWindow(): FigureWindow {
  const { params } = useSearchFilter();
  return names.find((name) => name === params.get("window")) ?? "1h";
}

export function WindowChoice() {
  const t = useTranslations("admin");
  const { set } = useSearchFilter();
  return (
    <Segmented
      label={t("window")}
      value={useWindow()}
      options={names.map((value) => ({ value, label: t(`windows.${value}`) }))}
      onChange={(value) => set("window", value === "1h" ? null : value)}
    />
  );
}

export function useOverview(window: FigureWindow) {
  return useLiveQuery(["overview", window], () => api.admin.overview.query({ window }));
}

interface Props<T> {
  readonly query: UseQueryResult<T>;
  readonly children: (data: T) => ReactNode;
  /** Shown until the first data arrives. */
  readonly waiting?: ReactNode;
  /** Class of the line that says that the figures are old. */
  readonly className?: string;
}

/** Shows polled data, and marks the data as old when a fetch fails. */
export function LiveData<T>({ query, children, waiting = <Loading />, className }: Props<T>) {
  const t = useTranslations("admin");
  const common = useTranslations("common");
  const format = useFormatter();
  const { data, error, dataUpdatedAt } = query;
  const refetch = () => void query.refetch();
  if (data === undefined) return error === null ? waiting : <LoadFailed error={error} onRetry={refetch} />;
  return (
    <>
      <div role="status" className={cx("empty:hidden", className)}>
        {error === null ? null : (
          <p className="tabular mb-4 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-warn">
            {t("notRefreshed", { time: format.dateTime(dataUpdatedAt, { timeStyle: "medium" }) })}
            <Button size="small" onClick={refetch}>
              {common("tryAgain")}
            </Button>
          </p>
        )}
      </div>
      {children(data)}
    </>
  );
}
