"use client";
import type { ImageView } from "@atelier/server/images";
import { useTranslations } from "next-intl";
import { hasEnded } from "../../live/live-state.ts";
import { useJob } from "../../live/use-job.ts";
import type { EditRun } from "../session.ts";
import type { EditorSession } from "../use-editor.ts";
import { BrushOptions } from "./brush-options.tsx";
import { EditActions } from "./edit-actions.tsx";
import { EditJob } from "../panel.tsx";

interface Props {
  readonly image: ImageView;
  readonly session: EditorSession;
  readonly run: EditRun;
}

export function EditPanel({ image, session, run }: Props) {
  const t = useTranslations("edit");
  const { job } = useJob(run.jobId);
  const isRunning = run.jobId !== null && (job === undefined || !hasEnded(job));
  return (
    <aside
      aria-label={t("actions")}
      className="flex shrink-0 flex-col gap-5 overflow-y-auto border-line p-4 wide:pb-20 max-wide:max-h-[38dvh] max-wide:border-t wide:w-[264px] wide:border-l"
    >
      <BrushOptions session={session} />
      <EditActions image={image} session={session} isBusy={isRunning} onJob={run.start} />
      {job === undefined ? null : <EditJob job={job} onRetried={run.startAgain} />}
    </aside>
  );
}
