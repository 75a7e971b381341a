"use client";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import type { AnyStory, JobEventType } from "@atelier/server/jobs";
import { api } from "../../client/api.ts";
import { useFailureText } from "../../ui/failures.ts";
import { PageHeader } from "../../parts/page-parts.tsx";
import { shownKind } from "../../client/kinds.ts";
import { buttonStyle } from "../../ui/button.tsx";
import { Facts } from "../../ui/facts.tsx";
import { LiveData, useLiveQuery } from "../live.tsx";
import { Json } from "../../ui/json.tsx";
import { useSpans, JobStatusChip, Panel, useInPhrase } from "../parts.tsx";
import { PlacementPanel, StoryActions, StoryFactList } from "./story-parts.tsx";

type Event = AnyStory["events"][number];

const text = (value: unknown) => (typeof value === "string" ? value : "");

/** One event as a sentence, and as `aside` the other data of the event. */
function useEventText(): (event: Event) => { text: string; aside: string | null } {
  const t = useTranslations("admin.story");
  const tiers = useTranslations("admin.jobs.tiers");
  const stages = useTranslations("stages");
  const causeOf = useFailureText();
  const inPhrase = useInPhrase();

  function sentence({ type, data, node }: Event): string {
    if (type === "progress") {
      const stage = text(data.stage) as "reading";
      const percent = typeof data.progress === "number" ? Math.round(data.progress * 100) : 0;
      return t("events.progress", { percent, stage: stages.has(stage) ? stages(stage) : stage });
    }
    if (type === "claimed" && node !== null) return t("events.claimedBy", { node });
    if (type === "moved" && text(data.to) !== "")
      return t("events.movedTo", { from: text(data.from), to: text(data.to) });
    if (type === "tier_changed") {
      const tier = text(data.tier) as "high";
      return t("events.tier_changed", { tier: tiers.has(tier) ? inPhrase(tiers(tier)) : tier });
    }
    if (type === "posted") return t("events.posted", { server: text(data.server) });
    // Safe cast: an event type without a text does not compile.
    const key = `events.${type as JobEventType}` as const;
    return t.has(key) ? t(key) : type.replaceAll("_", " ");
  }

  /** The data of the event that the sentence does not contain. */
  function aside({ type, data }: Event): string | null {
    const charge = typeof data.charged === "boolean" ? t(`charge.${data.charged ? "yes" : "no"}`) : "";
    // Safe cast: a code of another version has the text of `internal`.
    const code = text(data.code) as "internal" | "";
    const cause = code === "" ? [] : [causeOf({ code, message: "" }).title, code];
    const named = [...cause, text(data.message), text(data.exception), charge];
    const place =
      type === "created" ? [text(data.queue), text(data.need)] : [text(data.server), text(data.reason)];
    const parts = [...named, ...(type === "posted" ? [] : place)].filter((part) => part !== "");
    return parts.length > 0 ? parts.join(" · ") : null;
  }

  return (event) => ({ text: sentence(event), aside: aside(event) });
}

/** Every event of the job with its time and the time since the previous event. */
function AnyTimeline({ job: { events } }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.story");
  const format = useFormatter();
  const textOf = useEventText();
  const { span } = useSpans();
  const timeBefore = (at: number) => {
    const [event, before] = [events[at], events[at - 1]];
    return event && before ? `+${span(Date.parse(event.at) - Date.parse(before.at))}` : "";
  };
  return (
    <Panel title={t("timeline")}>
      {events.length === 0 ? <p className="text-xs text-quiet">{t("pruned")}</p> : null}
      <ol aria-label={t("timeline")} className="flex flex-col">
        {events.map((event, at) => {
          const { text, aside } = textOf(event);
          return (
            <li
              key={event.revision}
              className="relative flex gap-4 pb-4 ps-6 last:pb-0 before:absolute before:top-[7px] before:inset-s-0 before:size-[7px] before:rounded-full before:bg-edge after:absolute after:top-[18px] after:bottom-[-3px] after:inset-s-[3px] after:w-px after:bg-line last:before:bg-ink last:after:hidden"
            >
              <span className="min-w-0 flex-1 text-sm">
                {text}
                {aside === null ? null : (
                  <span className="block text-xs break-words text-quiet">{aside}</span>
                )}
              </span>
              <span className="tabular shrink-0 text-end text-xs text-quiet">
                <time dateTime={event.at}>
                  {format.dateTime(new Date(event.at), {
                    hour: "2-digit",
                    minute: "2-digit",
                    second: "2-digit",
                    fractionalSecondDigits: 1,
                  })}
                </time>
                <span className="block">{timeBefore(at)}</span>
              </span>
            </li>
          );
        })}
      </ol>
    </Panel>
  );
}

const levelStyles = {
  info: "text-quiet",
  warn: "text-warn",
  error: "text-fail",
  fatal: "text-fail",
} as const;

/** What the web and the workers logged about the job. */
function LogPanel({ job: { logs } }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.story");
  const format = useFormatter();
  if (logs.length === 0) return null;
  return (
    <Panel title={t("log")}>
      <ol aria-label={t("log")} className="divide-y divide-line border-y border-line text-xs">
        {logs.map(({ number, at, level, node, process, message, data }) => (
          <li key={number} className="py-2">
            <span className="flex flex-wrap justify-between gap-x-6">
              <span className="font-medium break-words">{message}</span>
              <span className="tabular text-quiet">
                <span className={levelStyles[level]}>{t(`levels.${level}`)}</span>
                {` · ${node ?? process} · `}
                <time dateTime={at}>{format.dateTime(new Date(at), { timeStyle: "medium" })}</time>
              </span>
            </span>
            <span className="mt-0.5 block break-words text-quiet">
              {Object.entries(data)
                .map(([name, value]) => `${name}: ${shown(value)}`)
                .join(" · ")}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** The failure of the job: code, text for the owner, and details of the engine. */
function FailurePanel({ job: { error, errorDetails } }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.story");
  const causeOf = useFailureText();
  if (error === null) return null;
  const hasDetails = errorDetails !== null && Object.keys(errorDetails).length > 0;
  return (
    <Panel title={t("failure")}>
      <div className="border-s-2 border-fail ps-4">
        <p className="text-sm font-medium text-fail">{causeOf({ ...error, message: "" }).title}</p>
        <p className="text-xs text-quiet">{error.code}</p>
        <p className="measure mt-1 text-sm break-words">{error.message}</p>
        {hasDetails ? <Json value={errorDetails} /> : null}
      </div>
    </Panel>
  );
}

function shown(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : JSON.stringify(value);
}

/** Shown below the list of settings instead of in it. */
const isLong = (value: unknown) => typeof value === "string" && value.length > 40;

/** The requested params and inputs. Admins do not see the owner's pictures. */
function SettingsPanel({ job: { params, inputs, facts, metadata } }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.story");
  const roles = useTranslations("story.roles");
  const longTexts = Object.entries(params).filter(([, value]) => isLong(value));
  const rest = Object.entries(params).filter(([, value]) => !isLong(value));
  const pictures = inputs.map(({ role }) => roles(role)).join(", ");
  return (
    <Panel title={t("params")}>
      {longTexts.map(([name, value]) => (
        <div key={name} className="mb-3 text-xs">
          <p className="text-quiet">{name}</p>
          <p className="measure mt-0.5 text-sm break-words">{shown(value)}</p>
        </div>
      ))}
      <Facts
        rows={[
          [t("inputs"), pictures === "" ? t("noInputs") : pictures],
          ...rest.map(([name, value]) => [name, shown(value)] as const),
        ]}
      />
      {Object.keys(metadata).length === 0 ? null : (
        <details className="mt-4 text-xs">
          <summary className="w-fit text-quiet hover:text-ink">{t("metadata")}</summary>
          <Json value={metadata} />
        </details>
      )}
      {facts === null ? null : (
        <details className="mt-4 text-xs">
          <summary className="w-fit text-quiet hover:text-ink">{t("engineFacts")}</summary>
          <Json value={facts} />
        </details>
      )}
    </Panel>
  );
}

/** The full history of any user's job, with the actions of an admin. */
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
              <LogPanel job={job} />
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
