"use client";
import { useTranslations } from "next-intl";
import { useRunKey } from "../frame/shortcuts/use-run-key.ts";
import { Button } from "../ui/button.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { Spinner } from "../ui/spinner.tsx";

interface Props {
  readonly canRun: boolean;
  readonly isBusy: boolean;
  readonly onRun: () => void;
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
