"use client";
import type { AnyStory } from "@atelier/server/jobs";
import { useFormatter, useTranslations } from "next-intl";
import { Panel } from "../../parts/panel.tsx";
import { formatSpan } from "../../parts/span.ts";
import { useEventText } from "./use-event-text.ts";

/** Every event of the job, each with its moment and the time since the one before. */
export function AnyTimeline({ job: { events } }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.story");
  const format = useFormatter();
  const textOf = useEventText();
  const timeBefore = (at: number) => {
    const [event, before] = [events[at], events[at - 1]];
    return event && before ? `+${formatSpan(Date.parse(event.at) - Date.parse(before.at))}` : "";
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
              className="relative flex gap-4 pb-4 pl-6 last:pb-0 before:absolute before:top-[7px] before:left-0 before:size-[7px] before:rounded-full before:bg-edge after:absolute after:top-[18px] after:bottom-[-3px] after:left-[3px] after:w-px after:bg-line last:before:bg-ink last:after:hidden"
            >
              <span className="min-w-0 flex-1 text-sm">
                {text}
                {aside === null ? null : (
                  <span className="block text-xs break-words text-quiet">{aside}</span>
                )}
              </span>
              <span className="tabular shrink-0 text-right text-xs text-quiet">
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
