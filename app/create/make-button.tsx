"use client";
import { useTranslations } from "next-intl";
import { useRunKey } from "../frame/shortcuts/use-run-key.ts";
import { Button } from "../ui/button.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { Spinner } from "../ui/spinner.tsx";

interface Props {
  readonly count: number;
  /** Of a batch that started partly, those that did not; else null. */
  readonly left: number | null;
  readonly canMake: boolean;
  readonly isBusy: boolean;
  readonly onMake: () => void;
}

export function MakeButton({ count, left, canMake, isBusy, onMake }: Props) {
  const t = useTranslations("create");
  const canStart = canMake && !isBusy;
  useRunKey(canStart, onMake);
  return (
    <Button
      look="primary"
      size="large"
      disabled={!canStart}
      onClick={onMake}
      aria-keyshortcuts="Control+Enter"
    >
      {isBusy ? <Spinner /> : null}
      {left === null ? t("make", { count }) : t("makeOthers", { count: left })}
      {isBusy ? null : (
        <span className="hidden sm:pointer-fine:inline">
          <Kbd keys="Control+Enter" ground="button" />
        </span>
      )}
    </Button>
  );
}
