"use client";
import type { JobView } from "@atelier/server/jobs";
import { memo } from "react";
import { DowngradeNote } from "../../jobs/downgrade-note.tsx";
import { hasEnded } from "../../live/live-state.ts";
import { CardActions } from "../result-card.tsx";
import { CardFailed } from "./card-failed.tsx";
import { CardPicture } from "./card-picture.tsx";
import { CardRunning } from "./card-running.tsx";

interface Props {
  readonly job: JobView;
  readonly widthPx: number;
  readonly heightPx: number;
  /** Its picture stands in the viewer now. */
  readonly isOpen: boolean;
  readonly onOpen: (imageId: string) => void;
  readonly onDismiss: (jobId: string) => void;
}

/** One picture: waiting, developing, done, or why there is none; drawn anew only when this job changes. */
export const ResultCard = memo(function ResultCard(props: Props) {
  const { job, widthPx, heightPx, isOpen, onOpen, onDismiss } = props;
  const prompt = typeof job.params.prompt === "string" ? job.params.prompt : "";
  return (
    <li className="flex min-w-0 shrink-0 flex-col gap-1" style={{ width: widthPx }}>
      <div className="relative w-full" style={{ height: heightPx }}>
        {hasEnded(job) ? null : <CardRunning job={job} />}
        {job.status === "failed" ? <CardFailed job={job} onDismiss={onDismiss} /> : null}
        {job.status === "completed" ? <CardPicture job={job} isOpen={isOpen} onOpen={onOpen} /> : null}
      </div>
      <p title={prompt} className="truncate text-xs text-quiet">
        {prompt}
      </p>
      <DowngradeNote job={job} />
      {job.status === "completed" ? <CardActions job={job} /> : null}
    </li>
  );
});
