"use client";
import { useTranslations } from "next-intl";
import { useEffect } from "react";
import { isBehindDialog } from "../frame/shortcuts/is-behind-dialog.ts";
import { Button } from "../ui/button.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { Spinner } from "../ui/spinner.tsx";
import { isRunKey } from "./is-run-key.ts";

interface Props {
  readonly canRun: boolean;
  readonly isBusy: boolean;
  readonly onRun: () => void;
}

function useRunKey(canStart: boolean, onRun: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!isRunKey(event) || isBehindDialog()) return;
      event.preventDefault();
      if (canStart) onRun();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [canStart, onRun]);
}

export function RunButton({ canRun, isBusy, onRun }: Props) {
  const t = useTranslations("studio");
  const canStart = canRun && !isBusy;
  useRunKey(canStart, onRun);
  return (
    <Button
      look="primary"
      size="large"
      disabled={!canStart}
      onClick={onRun}
      aria-keyshortcuts="Control+Enter"
      className="w-full"
    >
      {isBusy ? <Spinner /> : null}
      {t("run")}
      {isBusy ? null : (
        <span className="hidden sm:pointer-fine:inline">
          <Kbd keys="Control+Enter" ground="button" />
        </span>
      )}
    </Button>
  );
}
