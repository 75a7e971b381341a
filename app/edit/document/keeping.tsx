"use client";
import { CloudCheck, CloudOff, LoaderCircle, TriangleAlert } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import { useFailureText } from "../../ui/failures.ts";
import { Button, cx } from "../../ui/button.tsx";
import type { EditStore, Keeping } from "./store.ts";

const icons = {
  saved: CloudCheck,
  saving: LoaderCircle,
  away: CloudOff,
  conflict: TriangleAlert,
  refused: TriangleAlert,
} as const;

/** Where the edit is kept, in a word. */
export function KeepingState({ keeping }: { readonly keeping: Keeping }) {
  const t = useTranslations("edit");
  const Icon = icons[keeping.at];
  const isWrong = keeping.at === "conflict" || keeping.at === "refused";
  return (
    <p
      role="status"
      title={t(`keepingHints.${keeping.at}`)}
      className={cx(
        "flex items-center gap-1.5 text-xs [&_svg]:size-3.5",
        isWrong ? "text-fail" : "text-quiet",
      )}
    >
      <Icon aria-hidden className={cx(keeping.at === "saving" && "motion-safe:animate-spin")} />
      <span className="max-sm:sr-only">{t(`keeping.${keeping.at}`)}</span>
    </p>
  );
}

interface KeepingBannerProps {
  readonly store: EditStore;
  readonly keeping: Keeping;
}

/** What the user has to decide or to know: another window changed the edit, or the server does not take it. */
export function KeepingBanner({ store, keeping }: KeepingBannerProps) {
  const t = useTranslations("edit");
  const format = useFormatter();
  const textOf = useFailureText();
  if (keeping.at !== "conflict" && keeping.at !== "refused") return null;
  const bar =
    "flex shrink-0 flex-wrap items-center gap-x-4 gap-y-2 border-b border-line bg-raised px-4 py-2.5";
  if (keeping.at === "refused") {
    const { message, code } = keeping.failure;
    return (
      <div role="alert" className={bar}>
        <p className="min-w-0 flex-1 text-xs">
          <span className="font-medium">{t("notSaved")}</span>{" "}
          {message === "" ? textOf(keeping.failure).advice : message}{" "}
          {code === "request_too_large" ? t("notSavedAdvice") : null}
        </p>
        <Button size="small" onClick={store.touch}>
          {t("saveAgain")}
        </Button>
      </div>
    );
  }
  const { theirs } = keeping;
  const time = format.dateTime(new Date(theirs.updatedAt), { timeStyle: "short" });
  return (
    <div role="alert" className={bar}>
      <p className="min-w-0 flex-1 text-xs">
        <span className="font-medium">{t("changedElsewhere", { time })}</span> {t("changedElsewhereHint")}
      </p>
      <span className="flex gap-2">
        <Button size="small" onClick={() => void store.takeTheirs(theirs)}>
          {t("takeTheirs")}
        </Button>
        <Button size="small" onClick={() => void store.keepMine(theirs)}>
          {t("keepMine")}
        </Button>
      </span>
    </div>
  );
}
