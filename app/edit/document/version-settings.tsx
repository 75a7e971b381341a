"use client";
import { useTranslations } from "next-intl";
import type { JobView } from "@atelier/server/jobs";
import { shownKind } from "../../client/kinds.ts";
import { JobParams } from "../../jobs/placement.tsx";
import { useWorkflowTitle } from "../../jobs/text.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/overlays.tsx";

export interface VersionSettingsProps {
  readonly job: JobView;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** Sets the mode to what the job ran with; null where there is no such mode. */
  readonly onUse: (() => void) | null;
}

/** With what a version was made, to use it again. */
export function VersionSettings({ job, isOpen, onClose, onUse }: VersionSettingsProps) {
  const t = useTranslations("edit.run");
  const jobs = useTranslations("jobs");
  const titleOf = useWorkflowTitle();
  const made = [jobs(`kinds.${shownKind(job)}`), job.model === null ? null : titleOf(`cloud/${job.model}`)];
  return (
    <Dialog open={isOpen} onOpenChange={onClose} title={t("ofVersion")}>
      <p className="text-xs text-quiet">{made.filter((part) => part !== null).join(" · ")}</p>
      <JobParams job={job} />
      {onUse === null ? null : (
        <div className="mt-6 flex justify-end">
          <Button
            look="primary"
            onClick={() => {
              onUse();
              onClose();
            }}
          >
            {t("use")}
          </Button>
        </div>
      )}
    </Dialog>
  );
}
