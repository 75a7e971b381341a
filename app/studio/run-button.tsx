"use client";
import { useTranslations } from "next-intl";
import { useEffect } from "react";
import { Button } from "../ui/button.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { Spinner } from "../ui/spinner.tsx";

interface Props {
  readonly canRun: boolean;
  readonly isBusy: boolean;
  readonly onRun: () => void;
}

function useRunKey(onRun: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      onRun();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [onRun]);
}

export function RunButton({ canRun, isBusy, onRun }: Props) {
  const t = useTranslations("studio");
  useRunKey(onRun);
  return (
    <Button
      look="primary"
      size="large"
      disabled={!canRun || isBusy}
      onClick={onRun}
      aria-keyshortcuts="Control+Enter"
      className="w-full"
    >
      {isBusy ? <Spinner /> : null}
      {t("run")}
      {isBusy ? null : (
        <span className="hidden pointer-fine:inline">
          <Kbd keys="Control+Enter" ground="button" />
        </span>
      )}
    </Button>
  );
}
