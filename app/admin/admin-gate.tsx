"use client";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { useMe, useMeFailure } from "../data/use-me.ts";
import { LoadFailed } from "../frame/load-failed.tsx";
import { EmptyState } from "../ui/display.tsx";
import { AdminNav } from "./admin-nav.tsx";

/** Shows the pages to admins; the server refuses everybody else in any case. */
export function AdminGate({ children }: { readonly children: ReactNode }) {
  const t = useTranslations("admin");
  const me = useMe();
  const { error, retry } = useMeFailure();
  if (me === undefined) return error === null ? null : <LoadFailed error={error} onRetry={retry} />;
  if (me?.isAdmin !== true) return <EmptyState title={t("notAdminTitle")} text={t("notAdminText")} />;
  return (
    <>
      <AdminNav />
      {children}
    </>
  );
}
