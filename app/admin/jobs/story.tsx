"use client";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { api } from "../../client/api.ts";
import { PageHeader } from "../../frame/page-header.tsx";
import { buttonStyle } from "../../ui/button-style.ts";
import { JobStatusChip } from "../parts/job-status-chip.tsx";
import { LiveData } from "../live.tsx";
import { useLiveQuery } from "../parts/use-live-query.ts";
import { AnyTimeline } from "./story/any-timeline.tsx";
import { FailurePanel } from "./story/failure-panel.tsx";
import { PlacementPanel } from "./story/placement-panel.tsx";
import { SettingsPanel } from "./story/settings-panel.tsx";
import { StoryActions } from "./story/story-actions.tsx";
import { StoryFactList } from "./story-parts.tsx";
import { shownKind } from "../../jobs/shown-kind.ts";

/** The full story of anybody's job, and what may be done about it. */
export function AnyJobStory({ id }: { readonly id: string }) {
  const t = useTranslations("admin.story");
  const jobs = useTranslations("jobs");
  const query = useLiveQuery(["story", id], () => api.admin.jobs.story.query({ id }));
  return (
    <LiveData query={query} waiting={<PageHeader title={t("facts")} />} className="px-4 sm:px-6 wide:px-8">
      {(job) => (
        <>
          <PageHeader title={jobs(`kinds.${shownKind(job)}`)}>
            <JobStatusChip status={job.status} isCancelling={job.cancelRequested} />
            <Link href="/admin/jobs" className={buttonStyle("quiet", "small")}>
              {t("back")}
            </Link>
          </PageHeader>
          <div className="grid gap-x-12 gap-y-8 px-4 pb-10 sm:px-6 wide:grid-cols-[minmax(0,1fr)_340px] xl:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_360px] wide:px-8">
            <div className="flex min-w-0 flex-col gap-8">
              <StoryActions job={job} />
              <FailurePanel job={job} />
              <AnyTimeline job={job} />
            </div>
            <div className="flex min-w-0 flex-col gap-8 max-xl:wide:col-start-1">
              <PlacementPanel job={job} />
              <SettingsPanel job={job} />
            </div>
            <div className="min-w-0 wide:max-xl:col-start-2 wide:max-xl:row-span-2 wide:max-xl:row-start-1">
              <StoryFactList job={job} />
            </div>
          </div>
        </>
      )}
    </LiveData>
  );
}
