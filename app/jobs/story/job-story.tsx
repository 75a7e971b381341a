"use client";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { LoadFailed } from "../../frame/load-failed.tsx";
import { PageHeader } from "../../frame/page-header.tsx";
import { buttonStyle } from "../../ui/button-style.ts";
import { JobAction } from "../job-action.tsx";
import { JobStateLine } from "../job-state-line.tsx";
import { StoryFacts } from "../story.tsx";
import { JobParams } from "../params/job-params.tsx";
import { StoryPlacement } from "../placement.tsx";
import { StoryPictures } from "./story-pictures.tsx";
import { StoryTimeline } from "./story-timeline.tsx";
import { useStory } from "./use-story.ts";
import { shownKind } from "../shown-kind.ts";

/** All that happened to one job, in plain words. */
export function JobStory({ id }: { readonly id: string }) {
  const t = useTranslations("story");
  const jobs = useTranslations("jobs");
  const { data, job, isError, error, refetch } = useStory(id);
  if (isError && job === undefined) return <LoadFailed error={error} onRetry={() => void refetch()} />;
  if (job === undefined) return <PageHeader title={t("title")} />;
  return (
    <>
      <PageHeader title={jobs(`kinds.${shownKind(job)}`)}>
        <JobAction job={job} />
        <Link href="/jobs" className={buttonStyle("plain", "small")}>
          {t("back")}
        </Link>
      </PageHeader>
      <div className="grid gap-x-12 gap-y-8 px-4 sm:px-6 wide:grid-cols-[minmax(0,720px)_320px] xl:gap-x-20 wide:px-8">
        <div className="flex min-w-0 flex-col gap-8">
          <JobStateLine job={job} />
          <StoryPictures job={job} />
          <StoryPlacement job={job} />
          <StoryTimeline events={data?.events ?? []} job={job} />
        </div>
        <div className="min-w-0">
          <StoryFacts job={job} facts={data?.facts ?? null} />
          <JobParams job={job} />
        </div>
      </div>
    </>
  );
}
