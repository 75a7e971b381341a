"use client";
import type { UseQueryResult } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { LoadFailed } from "../frame/load-failed.tsx";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/cx.ts";
import { Loading } from "./parts/loading.tsx";

interface Props<T> {
  readonly query: UseQueryResult<T>;
  readonly children: (data: T) => ReactNode;
  /** Stands there until the first answer. */
  readonly waiting?: ReactNode;
  /** Of the line that says that the figures are old. */
  readonly className?: string;
}

/** What is asked for again and again; says so when it could not be, and that what is shown is old. */
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
