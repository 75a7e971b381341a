"use client";
import {
  Ban,
  CircleAlert,
  CircleCheck,
  Clock,
  LoaderCircle,
  type LucideIcon,
  RotateCcw,
  WandSparkles,
  X,
} from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { type ComponentProps, memo, type ReactNode } from "react";
import type { JobView } from "@atelier/server/jobs";
import { hasEnded } from "../live/store.ts";
import { Picture } from "../pictures/picture.tsx";
import { Button, cx, IconButton } from "../ui/button.tsx";
import { Progress } from "../ui/progress.tsx";
import { useCancelJob, useRetryJob } from "./parts.tsx";
import {
  formatSeconds,
  useSayTime,
  canRetryHelp,
  useElapsedSeconds,
  useEngineName,
  useJobFailureText,
  useJobNow,
} from "./text.ts";
import { promptsOf } from "./params.ts";
import { shownKind } from "../client/kinds.ts";
import { useWaitingText, type WaitingText } from "./waiting-text.ts";

interface ActionProps {
  readonly job: JobView;
  /** An icon alone in a list. */
  readonly look?: "icon" | "words";
}

/** "Cancel" while the job is open; "Retry" after a failure for which a retry can help. */
export function JobAction({ job, look = "icon" }: ActionProps) {
  const t = useTranslations("jobs");
  const cancel = useCancelJob(job.id);
  const retry = useRetryJob(job.id);
  const name = t(`kinds.${shownKind(job)}`);
  if (!hasEnded(job)) {
    const isAsked = job.cancelRequested || cancel.isPending;
    return (
      <ActButton
        look={look}
        label={t("cancelNamed", { name })}
        words={t("cancelJob")}
        disabled={isAsked}
        onClick={() => cancel.mutate()}
      >
        <X aria-hidden />
      </ActButton>
    );
  }
  if (job.status === "completed" || (job.error !== null && !canRetryHelp(job.error.code))) return null;
  return (
    <ActButton
      look={look}
      label={t("retryNamed", { name })}
      words={t("retryJob")}
      disabled={retry.isPending}
      onClick={() => retry.mutate()}
    >
      <RotateCcw aria-hidden />
    </ActButton>
  );
}

interface ActButtonProps extends Pick<
  ComponentProps<typeof IconButton>,
  "disabled" | "onClick" | "children"
> {
  readonly look: "icon" | "words";
  readonly label: string;
  readonly words: string;
}

function ActButton({ look, label, words, children, ...rest }: ActButtonProps) {
  if (look === "icon")
    return (
      <IconButton label={label} {...rest}>
        {children}
      </IconButton>
    );
  return (
    <Button size="small" aria-label={label} {...rest}>
      {children}
      {words}
    </Button>
  );
}

interface Look {
  readonly icon: LucideIcon;
  readonly style: string;
}

const looks: Record<JobView["status"], Look> = {
  pending: { icon: Clock, style: "text-quiet" },
  queued: { icon: Clock, style: "text-quiet" },
  waiting_for_engine: { icon: LoaderCircle, style: "text-info" },
  processing: { icon: LoaderCircle, style: "text-info" },
  completed: { icon: CircleCheck, style: "text-ok" },
  failed: { icon: CircleAlert, style: "text-fail" },
  cancelled: { icon: Ban, style: "text-quiet" },
};

/** Decorative: the text of the same status is always beside it. */
function StatusIcon({ status }: { readonly status: JobView["status"] }) {
  const { icon: Icon, style } = looks[status];
  const spins = status === "processing" || status === "waiting_for_engine";
  return (
    <Icon
      aria-hidden
      className={cx("size-4 shrink-0", style, spins && "animate-spin motion-reduce:animate-none")}
    />
  );
}

function useStateText(job: JobView, waiting: WaitingText | null): string {
  const t = useTranslations("jobs");
  const textOf = useJobFailureText();
  const now = useJobNow(job);
  if (waiting !== null) return [waiting.position, waiting.start].filter((part) => part !== null).join(" · ");
  if (job.status === "failed" && job.error !== null) return textOf(job.error).title;
  return hasEnded(job) ? t(`status.${job.status}`) : now.text;
}

/** A job's state as text, and a progress bar while it runs. */
export function JobStateLine({ job }: { readonly job: JobView }) {
  const say = useSayTime();
  const t = useTranslations("jobs");
  const waiting = useWaitingText(job);
  const text = useStateText(job, waiting);
  const { progress } = useJobNow(job);
  const seconds = useElapsedSeconds(job.startedAt ?? job.createdAt, job.endedAt);
  const isOpen = !hasEnded(job);
  return (
    <div className="flex min-w-0 flex-col gap-1.5">
      <p className="flex min-w-0 items-center gap-1.5 text-xs text-quiet">
        <StatusIcon status={job.status} />
        <span className="line-clamp-2">{text}</span>
        <span className="tabular ms-auto shrink-0 ps-2">
          {isOpen && progress !== null ? `${Math.round(progress * 100)} % · ` : null}
          {/* Of a job that waits it counts when it starts. */}
          {waiting === null ? formatSeconds(seconds, say) : null}
        </span>
      </p>
      {isOpen && job.status === "processing" ? (
        <Progress value={progress} label={t("progressOf", { kind: t(`kinds.${shownKind(job)}`) })} />
      ) : null}
    </div>
  );
}

interface JobThumbnailProps {
  readonly job: JobView;
  readonly size: "small" | "medium";
}

const sizes = { small: "size-10", medium: "size-14" };
const order = ["person", "image", "garment"];

/** Thumbnail of a job: the result, else the first input picture. */
export function JobThumbnail({ job, size }: JobThumbnailProps) {
  const [output] = job.outputs;
  const input = order
    .map((role) => job.inputs.find((candidate) => candidate.role === role))
    .find((found) => found !== undefined);
  const imageId = output?.imageId ?? input?.imageId;
  return (
    <span
      className={`flex shrink-0 items-center justify-center overflow-hidden rounded-control bg-well ${sizes[size]}`}
    >
      {imageId === undefined ? (
        <WandSparkles className="size-4 text-edge" strokeWidth={1.5} aria-hidden />
      ) : (
        <Picture
          key={imageId}
          imageId={imageId}
          variant="thumbnail"
          thumbhash={output?.thumbhash}
          alt=""
          className="size-full"
        />
      )}
    </span>
  );
}

interface JobListRowProps {
  readonly job: JobView;
  readonly className?: string;
  /** The drag handle, shown at the start of the row. */
  readonly handle?: ReactNode;
}

export const JobListRow = memo(function JobListRow({ job, className, handle }: JobListRowProps) {
  const t = useTranslations("jobs");
  const format = useFormatter();
  const engineName = useEngineName();
  const made = new Date(job.createdAt);
  const { prompt } = promptsOf(job.params);
  return (
    <li className={cx("flex items-center gap-2 transition-colors duration-120 hover:bg-hover/50", className)}>
      {handle}
      <Link
        href={`/jobs/${job.id}`}
        className="grid min-w-0 flex-1 grid-cols-[56px_minmax(0,1fr)] items-center gap-x-4 gap-y-1 rounded-control py-2.5 sm:grid-cols-[56px_minmax(0,1fr)_auto] xl:grid-cols-[56px_minmax(180px,1fr)_minmax(280px,1.4fr)_minmax(160px,1fr)_140px] xl:gap-x-8"
      >
        <span className="max-xl:col-start-1 max-xl:row-span-2 max-xl:row-start-1">
          <JobThumbnail job={job} size="medium" />
        </span>
        <span className="truncate text-sm font-medium max-xl:col-start-2 max-xl:row-start-1">
          {t(`kinds.${shownKind(job)}`)}
          {prompt === "" ? null : <span className="ms-2 font-normal text-quiet">{prompt}</span>}
        </span>
        <span className="min-w-0 max-xl:col-start-2 max-xl:row-start-2 sm:max-xl:col-span-2">
          <JobStateLine job={job} />
        </span>
        <span className="truncate text-xs text-quiet max-xl:hidden">{engineName(job.engine)}</span>
        <time
          dateTime={job.createdAt}
          className="tabular text-end text-xs text-quiet max-sm:hidden sm:max-xl:col-start-3 sm:max-xl:row-start-1"
        >
          {format.dateTime(made, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" })}
        </time>
      </Link>
      <span className="flex w-9 shrink-0 justify-center">
        <JobAction job={job} />
      </span>
    </li>
  );
});
