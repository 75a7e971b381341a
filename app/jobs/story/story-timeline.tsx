import type { JobEventView, JobView } from "@atelier/server/jobs";
import { useFormatter, useTranslations } from "next-intl";
import { EventText } from "./event-text.tsx";

interface Props {
  readonly events: readonly JobEventView[];
  readonly job: JobView;
}

function secondsBetween(from: string, to: string): string {
  return ((Date.parse(to) - Date.parse(from)) / 1_000).toFixed(1);
}

/** The job's events, oldest first, each with the time since the start. */
export function StoryTimeline({ events, job }: Props) {
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
            className="relative flex gap-4 pb-5 pl-6 last:pb-0 before:absolute before:top-[7px] before:left-0 before:size-[7px] before:rounded-full before:bg-edge after:absolute after:top-[18px] after:bottom-[-3px] after:left-[3px] after:w-px after:bg-line last:before:bg-ink last:after:hidden"
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
