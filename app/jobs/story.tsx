"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { useEffect } from "react";
import type { JobEventType, JobEventView, JobView } from "@atelier/server/jobs";
import { useCloudNames } from "../client/cloud.ts";
import { api } from "../client/api.ts";
import { keys, useMe } from "../client/queries.ts";
import { DeliveryList } from "../deliveries/delivery-list.tsx";
import { LoadFailed, PageHeader } from "../parts/page-parts.tsx";
import { useJob } from "../live/hooks.tsx";
import { hasEnded } from "../live/store.ts";
import { Picture } from "../pictures/picture.tsx";
import { buttonStyle } from "../ui/button.tsx";
import { type Fact, Facts } from "../ui/facts.tsx";
import { Json } from "../ui/json.tsx";
import { JobAction, JobStateLine } from "./row.tsx";
import { JobParams, StoryAttempts, StoryPlacement } from "./placement.tsx";
import { useEngineName, useJobFailureText } from "./text.ts";
import { shownKind } from "../client/kinds.ts";

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Host and port of an address. */
function hostOf(address: unknown): string {
  return text(address).replace(/^https?:\/\//, "");
}

/** The end of a job, and whether the provider made another shape than was asked for. */
function CompletedText({ data }: Pick<JobEventView, "data">) {
  const t = useTranslations("story.events");
  // Safe: members that are missing read as no text.
  const { asked, made } = (data.shape ?? {}) as { asked?: unknown; made?: unknown };
  return (
    <>
      <p className="text-sm">{t("completed")}</p>
      {text(asked) === "" ? null : (
        <p className="text-xs text-quiet">{t("otherShape", { asked: text(asked), made: text(made) })}</p>
      )}
    </>
  );
}

/** The text of one event. */
function EventText({ event }: { readonly event: JobEventView }) {
  const t = useTranslations("story.events");
  const stages = useTranslations("stages");
  const textOf = useJobFailureText();
  const { data, type } = event;
  if (type === "progress") {
    const stage = text(data.stage) as "reading";
    const percent = typeof data.progress === "number" ? Math.round(data.progress * 100) : 0;
    return (
      <p className="text-sm text-quiet">
        {t("progress", { percent, stage: stages.has(stage) ? stages(stage) : stage })}
      </p>
    );
  }
  if (type === "failed" || type === "requeued") {
    const next = `next.${text(data.next)}` as "next.other_server";
    const { title, advice } = textOf({ code: text(data.code) as "internal", message: text(data.message) });
    return (
      <>
        <p className="text-sm">{t(type)}</p>
        {t.has(next) ? <p className="text-sm">{t(next)}</p> : null}
        {text(data.code) === "" ? null : <p className="text-xs text-quiet">{`${title}. ${advice}`}</p>}
      </>
    );
  }
  if (type === "completed") return <CompletedText data={data} />;
  if (type === "posted") return <p className="text-sm">{t(type, { server: hostOf(data.server) })}</p>;
  // Safe cast: an event type without a text does not compile.
  const key = type as JobEventType;
  return <p className="text-sm">{t.has(key) ? t(key) : type.replaceAll("_", " ")}</p>;
}

interface StoryFactsProps {
  readonly job: JobView;
  readonly facts: Readonly<Record<string, unknown>> | null;
}

/** Where and how it ran, as a quiet table. */
function StoryFacts({ job, facts }: StoryFactsProps) {
  const t = useTranslations("story");
  const format = useFormatter();
  const engineName = useEngineName();
  const nameOf = useCloudNames();
  const moment = (iso: string | null) =>
    iso === null ? "–" : format.dateTime(new Date(iso), { dateStyle: "medium", timeStyle: "medium" });
  const isCloud = job.engine === "cloud";
  const rows: readonly Fact[] = [
    [t("facts.engine"), engineName(job.engine)],
    // A job that a provider has belongs to no worker.
    ...(isCloud && job.node === null ? [] : [[t("facts.node"), job.node ?? "–"] as const]),
    ...(job.server === null
      ? []
      : [[t(isCloud ? "facts.provider" : "facts.server"), nameOf("providers", job.server)] as const]),
    [t("facts.queue"), job.queue],
    [t("facts.attempt"), String(job.attempt)],
    [t("facts.created"), moment(job.createdAt)],
    [t("facts.started"), moment(job.startedAt)],
    [t("facts.ended"), moment(job.endedAt)],
    [t("facts.id"), job.id],
  ];
  return (
    <section aria-labelledby="story-facts">
      <h2 id="story-facts" className="mb-4 text-sm font-medium">
        {t("factsTitle")}
      </h2>
      <Facts rows={rows} />
      {facts === null ? null : (
        <details className="mt-4 text-xs">
          <summary className="text-quiet hover:text-ink">{t("factsOfEngine")}</summary>
          <Json value={facts} />
        </details>
      )}
    </section>
  );
}

/** What was sent at the end of the job. */
function StoryDeliveries({ job }: { readonly job: JobView }) {
  const t = useTranslations("story");
  const isGuest = useMe()?.isGuest !== false;
  const { data } = useQuery({
    queryKey: keys.jobDeliveries(job.id, job.status),
    queryFn: () => api.deliveries.list.query({ jobId: job.id }),
    enabled: !isGuest && hasEnded(job),
  });
  if (data === undefined || data.items.length === 0) return null;
  return (
    <section aria-labelledby="story-deliveries">
      <h2 id="story-deliveries" className="mb-3 text-sm font-medium">
        {t("deliveries")}
      </h2>
      <DeliveryList label={t("deliveries")} items={data.items} />
    </section>
  );
}

function StoryPictures({ job }: { readonly job: JobView }) {
  const t = useTranslations("story");
  const pictures = [
    ...job.inputs.filter((input) => input.role !== "mask").map(({ role, imageId }) => ({ role, imageId })),
    ...job.outputs.map(({ imageId }) => ({ role: "result" as const, imageId })),
  ];
  return (
    <ul className="flex flex-wrap gap-4 max-sm:grid max-sm:grid-cols-3 max-sm:gap-3">
      {pictures.map(({ role, imageId }) => (
        <li key={`${role}-${imageId}`} className="flex flex-col gap-1.5">
          <Link
            href={`/gallery?image=${imageId}`}
            className="block h-40 overflow-hidden max-sm:h-auto rounded-card bg-well"
          >
            <Picture
              imageId={imageId}
              variant="thumbnail"
              alt={t(`roles.${role}`)}
              fit="contain"
              className="h-full w-auto max-sm:h-auto max-sm:w-full"
            />
          </Link>
          <span aria-hidden className="text-xs text-quiet">
            {t(`roles.${role}`)}
          </span>
        </li>
      ))}
    </ul>
  );
}

interface StoryTimelineProps {
  readonly events: readonly JobEventView[];
  readonly job: JobView;
}

function secondsBetween(from: string, to: string): string {
  return ((Date.parse(to) - Date.parse(from)) / 1_000).toFixed(1);
}

/** The job's events, oldest first, each with the time since the start. */
function StoryTimeline({ events, job }: StoryTimelineProps) {
  const t = useTranslations("story");
  const format = useFormatter();
  return (
    <section aria-labelledby="story-timeline">
      <h2 id="story-timeline" className="mb-4 text-sm font-medium">
        {t("timeline")}
      </h2>
      <ol className="flex flex-col">
        {events.map((event) => (
          <li
            key={event.revision}
            className="relative flex gap-4 pb-5 ps-6 last:pb-0 before:absolute before:top-[7px] before:inset-s-0 before:size-[7px] before:rounded-full before:bg-edge after:absolute after:top-[18px] after:bottom-[-3px] after:inset-s-[3px] after:w-px after:bg-line last:before:bg-ink last:after:hidden"
          >
            <span className="min-w-0 flex-1">
              <EventText event={event} />
            </span>
            <time
              dateTime={event.at}
              title={format.dateTime(new Date(event.at), { dateStyle: "medium", timeStyle: "medium" })}
              className="tabular shrink-0 text-xs text-quiet"
            >
              {t("after", { seconds: secondsBetween(job.createdAt, event.at) })}
            </time>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** A job with its events, fetched again when the stream reports a newer revision. */
function useStory(id: string) {
  const queries = useQueryClient();
  const query = useQuery({
    queryKey: keys.job(id),
    queryFn: () => api.jobs.get.query({ id }),
    staleTime: Infinity,
  });
  const { job } = useJob(id);
  const knownRevision = query.data?.revision ?? 0;
  const isBehind = job !== undefined && job.revision > knownRevision;
  useEffect(() => {
    if (isBehind) void queries.invalidateQueries({ queryKey: keys.job(id) });
  }, [id, isBehind, job?.revision, queries]);
  return { ...query, job: job ?? query.data };
}

/** The history of one job in plain language. */
export function JobStory({ id }: { readonly id: string }) {
  const t = useTranslations("story");
  const jobs = useTranslations("jobs");
  const { data, job, isError, error, refetch } = useStory(id);
  const toAll = (
    <Link href="/jobs" className={buttonStyle("plain", "small")}>
      {t("back")}
    </Link>
  );
  if (isError && job === undefined)
    return (
      <LoadFailed error={error} onRetry={() => void refetch()}>
        {toAll}
      </LoadFailed>
    );
  if (job === undefined) return <PageHeader title={t("title")} />;
  return (
    <>
      <PageHeader title={jobs(`kinds.${shownKind(job)}`)}>
        <JobAction job={job} look="words" />
        {toAll}
      </PageHeader>
      <div className="grid gap-x-12 gap-y-8 px-4 sm:px-6 wide:grid-cols-[minmax(0,720px)_320px] xl:gap-x-20 wide:px-8">
        <div className="flex min-w-0 flex-col gap-8">
          <JobStateLine job={job} />
          <StoryPictures job={job} />
          <StoryPlacement job={job} />
          <StoryAttempts job={job} />
          <StoryDeliveries job={job} />
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
