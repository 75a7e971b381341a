"use client";
import type { JobView } from "@atelier/server/jobs";
import type { JobNow } from "../../jobs/stage-text.ts";
import { useWaitingText } from "../../jobs/waiting/use-waiting-text.ts";
import { cx } from "../../ui/cx.ts";

interface Props {
  readonly job: JobView;
  readonly now: JobNow;
}

/** In the middle of an empty frame; over a preview it keeps to the lower edge. */
export function CardWords({ job, now }: Props) {
  const waiting = useWaitingText(job);
  const isOver = now.preview !== null;
  const percent = now.progress === null ? null : `${Math.round(now.progress * 100)} %`;
  return (
    <div
      className={cx(
        "tabular flex max-w-[calc(100%-16px)] flex-col items-center text-center text-xs",
        isOver ? "absolute bottom-3 rounded-card bg-black/70 px-3 py-1 text-white" : "relative",
      )}
    >
      <p role="status" className={cx("font-medium", waiting?.isAway && "text-warn")}>
        {waiting?.place ?? now.text}
      </p>
      <p className={cx("empty:hidden", isOver ? "text-white/80" : "text-quiet")}>
        {waiting?.start ?? percent}
      </p>
    </div>
  );
}
