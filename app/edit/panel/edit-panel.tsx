"use client";
import type { ImageView } from "@atelier/server/images";
import { useTranslations } from "next-intl";
import { hasEnded } from "../../live/live-state.ts";
import { useJob } from "../../live/use-job.ts";
import type { EditorSession } from "../use-editor.ts";
import { BrushOptions } from "./brush-options.tsx";
import { EditActions } from "./edit-actions.tsx";
import { EditJob } from "./edit-job.tsx";

interface Props {
  readonly image: ImageView;
  readonly session: EditorSession;
  readonly jobId: string | null;
  readonly onJob: (jobId: string | null) => void;
}

export function EditPanel({ image, session, jobId, onJob }: Props) {
  const t = useTranslations("edit");
  const { job } = useJob(jobId);
  const isRunning = jobId !== null && (job === undefined || !hasEnded(job));
  return (
    <aside
      aria-label={t("actions")}
      className="flex shrink-0 flex-col gap-5 overflow-y-auto border-line p-4 wide:pb-20 max-wide:max-h-[38dvh] max-wide:border-t wide:w-[264px] wide:border-l"
    >
      <BrushOptions session={session} />
      <EditActions image={image} session={session} isBusy={isRunning} onJob={onJob} />
      {job === undefined ? null : <EditJob job={job} onJob={onJob} />}
    </aside>
  );
}
