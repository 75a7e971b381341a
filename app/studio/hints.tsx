"use client";
import { Images, Shirt, WandSparkles, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useState, useSyncExternalStore } from "react";
import { Button, cx, IconButton } from "../ui/button.tsx";
import { useStudio } from "./state.ts";
import { hintsCookie, noteHintsSeen } from "../client/cookies.ts";

const hints = [
  { key: "start", icon: Shirt },
  { key: "kept", icon: Images },
  { key: "on", icon: WandSparkles },
] as const;

const never = () => () => undefined;

/** Whether this browser has yet to see them. A page that was kept for Back holds what was so when it was made. */
function useIsNew(wasNew: boolean): boolean {
  return useSyncExternalStore(
    never,
    () => !document.cookie.includes(`${hintsCookie}=`),
    () => wasNew,
  );
}

/** The first visit in three hints: side by side, on a phone one after the other. They go for good with the first picture, or when dismissed. */
export function Hints({ isNew: wasNew }: { readonly isNew: boolean }) {
  const t = useTranslations("frame.hints");
  const isNew = useIsNew(wasNew);
  const { personId, garmentId } = useStudio();
  const [isDismissed, setDismissed] = useState(false);
  const [at, setAt] = useState(0);
  const isLast = at === hints.length - 1;
  const hasBegun = personId !== null || garmentId !== null;
  useEffect(() => {
    if (hasBegun) noteHintsSeen();
  }, [hasBegun]);
  if (!isNew || isDismissed || hasBegun) return null;
  const dismiss = () => {
    noteHintsSeen();
    setDismissed(true);
  };
  return (
    <aside
      data-hints
      aria-label={t("title")}
      className="mx-4 mb-4 flex items-start gap-4 rounded-card border border-line bg-surface p-4 sm:mx-6 wide:mx-8"
    >
      <ol className="grid flex-1 gap-x-8 gap-y-3 sm:grid-cols-3">
        {hints.map(({ key, icon: Icon }, index) => (
          <li key={key} className={cx("flex gap-3", index !== at && "max-sm:hidden")}>
            <Icon className="mt-0.5 size-[18px] shrink-0 text-quiet" strokeWidth={1.75} aria-hidden />
            <div className="min-w-0">
              <p className="text-sm font-medium">{t(`${key}.title`)}</p>
              <p className="mt-0.5 max-w-[48ch] text-xs text-quiet">{t(`${key}.text`)}</p>
            </div>
          </li>
        ))}
      </ol>
      {isLast ? null : (
        <Button size="small" look="quiet" className="sm:hidden" onClick={() => setAt(at + 1)}>
          {t("next", { number: at + 1, count: hints.length })}
        </Button>
      )}
      <IconButton
        label={t("dismiss")}
        onClick={dismiss}
        className={cx("-my-1 -me-1", !isLast && "max-sm:hidden")}
      >
        <X aria-hidden />
      </IconButton>
    </aside>
  );
}
