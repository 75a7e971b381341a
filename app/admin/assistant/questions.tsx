"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import { useState } from "react";
import type { QuestionStory, QuestionSummary } from "@atelier/server/assistant";
import { api } from "../../client/api.ts";
import { byCursor, retryLoad } from "../../client/queries.ts";
import { FilterChip, FilterChips, useSearchFilter } from "../../parts/filters.tsx";
import { LoadFailed } from "../../parts/page-parts.tsx";
import { Button, cx } from "../../ui/button.tsx";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { useDollars } from "../../ui/hooks.ts";
import { LiveData, useLiveQuery } from "../live.tsx";
import { Loading, Panel, StateChip } from "../parts.tsx";
import { useMs } from "./figures.tsx";
import { CircleCheck, CircleX, Clock } from "lucide-react";

const states = ["open", "completed", "failed"] as const;
const refetchMs = 10_000;

function Status({ status }: Pick<QuestionSummary, "status">) {
  const t = useTranslations("admin.assistant.list");
  const look =
    status === "completed"
      ? ({ icon: CircleCheck, tone: "ok" } as const)
      : status === "failed"
        ? ({ icon: CircleX, tone: "fail" } as const)
        : ({ icon: Clock, tone: "info" } as const);
  return <StateChip {...look}>{t(`statuses.${status}`)}</StateChip>;
}

/** One call: what was called, and what is known of it. */
function Call({ call }: { readonly call: QuestionStory["modelCalls"][number] }) {
  const t = useTranslations("admin.assistant.list");
  const stages = useTranslations("admin.assistant.stages");
  const usd = useDollars();
  const ms = useMs();
  const { model, inputTokens: input, outputTokens: output, errorClass } = call;
  const stage = stages(call.stage as "analyzer");
  const figures = [
    ...(input === null || output === null ? [] : [t("callTokens", { input, output })]),
    usd(call.usd),
    call.ms === null ? t("callRuns") : ms(call.ms),
  ];
  return (
    <li className="flex flex-wrap justify-between gap-x-4">
      <span className="min-w-0 break-words">
        {call.try > 1 ? t("callTry", { stage, model, try: call.try }) : t("callName", { stage, model })}
        {errorClass === null ? null : <span className="font-medium text-fail"> · {errorClass}</span>}
      </span>
      <span className="text-quiet">{figures.join(" · ")}</span>
    </li>
  );
}

/** What happened in one run, step by step. */
function Story({ id }: { readonly id: string }) {
  const t = useTranslations("admin.assistant.list");
  const ms = useMs();
  const query = useLiveQuery(
    ["assistant", "story", id],
    () => api.admin.assistant.story.query({ id }),
    refetchMs,
  );
  return (
    <LiveData query={query}>
      {(story) => (
        <div className="grid items-start gap-x-12 gap-y-6 pt-4 pb-5 md:grid-cols-2">
          <div className="flex min-w-0 flex-col gap-4">
            <ol aria-label={t("events")} className="flex flex-col gap-1.5 text-sm">
              {story.events.map((event) => (
                <li key={`${event.status} ${event.ms}`} className="flex items-baseline gap-4">
                  <span className="tabular w-14 shrink-0 text-end text-xs text-quiet">{ms(event.ms)}</span>
                  <span className={cx("min-w-0 break-words", event.status === "failed" && "text-fail")}>
                    {t(`statuses.${event.status as "new"}`)}
                    {event.node === null ? null : <span className="text-quiet"> · {event.node}</span>}
                  </span>
                </li>
              ))}
            </ol>
            {story.errorCode === null ? null : (
              <p className="text-sm break-words text-fail">
                {t("error")}: {story.errorMessage ?? story.errorCode}
              </p>
            )}
            {story.modelCalls.length === 0 ? null : (
              <ul
                aria-label={t("calls")}
                className="tabular flex flex-col gap-1.5 border-t border-line pt-3 text-xs"
              >
                {story.modelCalls.map((call) => (
                  <Call key={call.id} call={call} />
                ))}
              </ul>
            )}
          </div>
          <StoryFacts story={story} />
        </div>
      )}
    </LiveData>
  );
}

function StoryFacts({ story }: { readonly story: QuestionStory }) {
  const t = useTranslations("admin.assistant.list");
  const { contextType, isByRule, memoriesUsed, contextTokens, memoryTokens, losses, errorCode } = story;
  const tokens = { total: contextTokens ?? 0, memory: memoryTokens ?? 0 };
  const needed = contextType === null ? "–" : t(`contextTypes.${contextType as "none"}`);
  const rows: Fact[] = [
    [t("context"), isByRule ? t("byRule", { what: needed }) : needed],
    [t("memories"), memoriesUsed ?? "–"],
    [t("tokens"), contextTokens === null ? "–" : t("tokensValue", tokens)],
    [t("losses"), losses],
    ...(errorCode === null ? [] : [[t("errorCode"), errorCode] as const]),
    [t("id"), story.id],
  ];
  return <Facts rows={rows} />;
}

function QuestionItem({ run }: { readonly run: QuestionSummary }) {
  const t = useTranslations("admin.assistant.list");
  const format = useFormatter();
  const usd = useDollars();
  const ms = useMs();
  const [isOpen, setOpen] = useState(false);
  const when = format.dateTime(new Date(run.createdAt), { dateStyle: "medium", timeStyle: "short" });
  return (
    <li className="border-t border-line py-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="sm:min-w-28">
          <Status status={run.status} />
        </div>
        <p className="tabular min-w-0 flex-1 text-sm break-words max-sm:order-last max-sm:basis-full">
          {t("line", { owner: run.owner, when, ms: ms(run.ms), calls: run.calls, usd: usd(run.usd) })}
        </p>
        <Button
          size="small"
          look="quiet"
          className="max-sm:ms-auto"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {t(isOpen ? "close" : "open")}
        </Button>
      </div>
      {isOpen ? <Story id={run.id} /> : null}
    </li>
  );
}

/** The questions of all users, newest first, each with its story. */
export function Questions() {
  const t = useTranslations("admin.assistant.list");
  const { params } = useSearchFilter();
  const state = states.find((known) => known === params.get("state"));
  const query = useInfiniteQuery({
    queryKey: ["admin", "assistant", "runs", state ?? null],
    queryFn: ({ pageParam }) =>
      api.admin.assistant.runs.query({
        ...(state === undefined ? {} : { state }),
        ...(pageParam === null ? {} : { cursor: pageParam }),
      }),
    ...byCursor,
    refetchInterval: refetchMs,
  });
  const items = query.data?.pages.flatMap((page) => page.items);
  return (
    <Panel title={t("title")} aside={t("text")}>
      <FilterChips label={t("state")}>
        {states.map((value) => (
          <FilterChip key={value} name="state" value={value} pressed={state === value}>
            {t(`states.${value}`)}
          </FilterChip>
        ))}
      </FilterChips>
      {query.error !== null && items === undefined ? (
        <LoadFailed error={query.error} onRetry={() => retryLoad(query)} />
      ) : null}
      {query.isPending ? <Loading /> : null}
      {items?.length === 0 ? <p className="py-4 text-sm text-quiet">{t("none")}</p> : null}
      <ul className="mt-3">
        {items?.map((run) => (
          <QuestionItem key={run.id} run={run} />
        ))}
      </ul>
      {query.hasNextPage ? (
        <Button disabled={query.isFetching} onClick={() => void query.fetchNextPage()}>
          {t("more")}
        </Button>
      ) : null}
    </Panel>
  );
}
