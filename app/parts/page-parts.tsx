"use client";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { failureOf, useFailureText } from "../ui/failures.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";

interface PageHeaderProps {
  readonly title: string;
  /** Beside the title, and smaller. */
  readonly note?: ReactNode;
  readonly children?: ReactNode;
}

export function PageHeader({ title, note, children }: PageHeaderProps) {
  return (
    <header className="flex min-h-16 flex-wrap items-center justify-between gap-x-6 gap-y-2 px-4 pt-4 pb-3 sm:px-6 wide:px-8 wide:pt-6 wide:pb-4">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <h1 className="text-xl">{title}</h1>
        {note}
      </div>
      {children === undefined ? null : (
        <div className="flex flex-wrap items-center gap-2 max-sm:has-[input]:w-full">{children}</div>
      )}
    </header>
  );
}

interface LoadFailedProps {
  readonly error: unknown;
  readonly onRetry: () => void;
  /** The way out of a page whose subject does not exist. */
  readonly children?: ReactNode;
}

/** Instead of what could not be read, with a button that reads it again, or the page where that is older than the studio. */
export function LoadFailed({ error, onRetry, children }: LoadFailedProps) {
  const t = useTranslations("common");
  const reload = useTranslations("errors.outdated")("reload");
  const failure = failureOf(error);
  const { title, advice } = useFailureText()(failure);
  const button =
    failure.code === "outdated" ? (
      <Button onClick={() => window.location.reload()}>{reload}</Button>
    ) : (
      <Button onClick={onRetry}>{t("tryAgain")}</Button>
    );
  return (
    <EmptyState title={title} text={advice}>
      {failure.code === "not_found" && children !== undefined ? children : button}
    </EmptyState>
  );
}
