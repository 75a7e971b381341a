"use client";
import { useTranslations } from "next-intl";
import type { ImageView } from "@atelier/server/images";
import type { JobView } from "@atelier/server/jobs";
import { useCancelJob, useRetryJob } from "../jobs/parts.tsx";
import { JobStateLine } from "../jobs/row.tsx";
import { canRetryHelp, useJobFailureText } from "../jobs/text.ts";
import { shownKind } from "../client/kinds.ts";
import { useJob } from "../live/hooks.tsx";
import { hasEnded } from "../live/store.ts";
import { Button } from "../ui/button.tsx";
import { Modes } from "./modes/modes.tsx";
import { type ModeSession, takesMarks } from "./modes/mode-state.ts";
import { type EditorSession } from "./session.ts";
import type { Runs } from "./document/runs.ts";
import { ToolPanel } from "./tools/options.tsx";
import type { Selections } from "./tools/select.tsx";

interface EditJobProps {
  readonly job: JobView;
  readonly onRetried: (jobId: string) => void;
}

/** The job of this session: its progress, or the reason for its failure. */
function EditJob({ job, onRetried }: EditJobProps) {
  const t = useTranslations("jobs");
  const textOf = useJobFailureText();
  const cancel = useCancelJob(job.id);
  const retry = useRetryJob(job.id, onRetried);
  if (job.status === "completed") return null;
  return (
    <section
      aria-label={t(`kinds.${shownKind(job)}`)}
      className="flex flex-col gap-2 rounded-card border border-line p-3"
    >
      <p className="text-xs font-medium">{t(`kinds.${shownKind(job)}`)}</p>
      <JobStateLine job={job} />
      {job.error === null ? null : <p className="text-xs text-quiet">{textOf(job.error).advice}</p>}
      {hasEnded(job) ? null : (
        <Button
          size="small"
          look="quiet"
          disabled={job.cancelRequested || cancel.isPending}
          onClick={() => cancel.mutate()}
        >
          {t("cancel")}
        </Button>
      )}
      {job.status === "failed" && job.error !== null && canRetryHelp(job.error.code) ? (
        <Button size="small" disabled={retry.isPending} onClick={() => retry.mutate()}>
          {t("retry")}
        </Button>
      ) : null}
    </section>
  );
}

interface EditPanelProps {
  readonly image: ImageView;
  readonly session: EditorSession;
  readonly selection: Selections | null;
  readonly modes: ModeSession;
  readonly run: Runs;
}

export function EditPanel({ image, session, selection, modes, run }: EditPanelProps) {
  const t = useTranslations("edit");
  const { job } = useJob(run.jobId);
  return (
    <aside
      aria-label={t("actions")}
      className="flex shrink-0 flex-col gap-5 overflow-y-auto border-line p-4 wide:pb-20 max-wide:h-[38dvh] max-wide:scroll-pb-44 max-wide:has-data-settings-open:h-[50dvh] max-wide:border-t wide:w-[304px] xl:w-[320px] wide:border-s"
    >
      <Modes
        image={image}
        session={session}
        modes={modes}
        isBusy={run.isBusy}
        onJob={run.startOn(image.id)}
        candidates={run.choice}
      />
      {takesMarks(modes.state.mode) ? <ToolPanel session={session} selection={selection} /> : null}
      {job === undefined ? null : <EditJob job={job} onRetried={run.startAgain} />}
    </aside>
  );
}
