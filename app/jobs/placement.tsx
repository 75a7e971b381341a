"use client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Copy } from "lucide-react";
import { useTranslations } from "next-intl";
import type { JobView } from "@atelier/server/jobs";
import { api } from "../client/api.ts";
import { useCloudNames } from "../client/cloud.ts";
import { readLoras, paramRows, promptsOf } from "./params.ts";
import { useDollars } from "../ui/hooks.ts";
import { keys } from "../client/queries.ts";
import { Button } from "../ui/button.tsx";
import { Facts } from "../ui/facts.tsx";
import { useCopy } from "../ui/copy.ts";
import { DowngradeNote } from "./parts.tsx";
import { useNeedName, useWorkflowTitle } from "./text.ts";

type ParamFacts = readonly (readonly [string, string])[];

/** The settings of a job besides its prompts, by their names; none before the job is known. */
export function useParamFacts(): (job: JobView | undefined) => ParamFacts {
  const t = useTranslations("params");
  const categories = useTranslations("studio.categories");
  const titleOf = useWorkflowTitle();
  return (job) => (job === undefined ? [] : paramFacts(job, { t, categories, titleOf }));
}

interface Naming {
  readonly t: ReturnType<typeof useTranslations<"params">>;
  readonly categories: ReturnType<typeof useTranslations<"studio.categories">>;
  readonly titleOf: ReturnType<typeof useWorkflowTitle>;
}

function paramFacts(job: JobView, { t, categories, titleOf }: Naming): ParamFacts {
  const rows = paramRows(job.params).map(({ name, value }) => {
    const key = value as "auto";
    const text = name === "category" && categories.has(key) ? categories(key) : value;
    return [t(name), text] as const;
  });
  const { template } = job;
  const workflow = job.workflow === null ? [] : [[t("workflow"), titleOf(job.workflow)] as const];
  const loras = readLoras(job.params.loras).map(({ name, weight }) => `${name} (${weight})`);
  const styles = template?.styles.map(({ name }) => name).join(", ") ?? "";
  return [
    ...workflow,
    ...rows,
    ...(loras.length === 0 ? [] : [[t("loras"), loras.join(", ")] as const]),
    ...(styles === "" ? [] : [[t("styles"), styles] as const]),
    // Where nothing was drawn, the prompt says it all.
    ...(template === null || template.seed === null ? [] : [[t("template"), template.prompt ?? ""] as const]),
  ];
}

/** The prompt and settings of a picture, to read and to copy. */
export function JobParams({ job }: { readonly job: JobView }) {
  const t = useTranslations("params");
  const copy = useCopy();
  const rows = useParamFacts()(job);
  const { prompt, negativePrompt } = promptsOf(job.params);
  if (rows.length === 0 && prompt === "") return null;
  const prompts = [prompt, negativePrompt === "" ? "" : `${t("negativePrompt")}: ${negativePrompt}`];
  const text = [...prompts, ...rows.map(([name, value]) => `${name}: ${value}`)].filter(
    (line) => line !== "",
  );
  return (
    <section aria-labelledby="job-params" className="mt-6 flex flex-col gap-3">
      <div className="flex h-8 items-center justify-between gap-2">
        <h2 id="job-params" className="text-xs font-medium">
          {t("title")}
        </h2>
        <Button look="quiet" size="small" className="-me-2.5" onClick={() => copy(text.join("\n"))}>
          <Copy aria-hidden />
          {t("copy")}
        </Button>
      </div>
      {prompts[0] ? <p className="text-sm break-words whitespace-pre-wrap">{prompts[0]}</p> : null}
      {prompts[1] ? <p className="text-xs break-words whitespace-pre-wrap text-quiet">{prompts[1]}</p> : null}
      <Facts rows={rows} />
    </section>
  );
}

type Placement = NonNullable<JobView["placement"]>;
type Weighed = Placement["weighed"][number];

/** Text for the reason why a place was not chosen. */
function useWhy(): (weighed: Weighed) => string {
  const t = useTranslations("placement");
  return ({ refused, waitS }) => {
    const why = t(`refused.${refused ?? "none"}`);
    return waitS === null || waitS < 1 ? why : `${why} ${t("wait", { seconds: waitS })}`;
  };
}

/** The place of the job and the places that were not chosen. */
export function StoryPlacement({ job }: { readonly job: JobView }) {
  const t = useTranslations("placement");
  const nameOf = useNeedName();
  const why = useWhy();
  const { placement } = job;
  if (placement === null) return null;
  const { chosen, weighed, isLive } = placement;
  const others = weighed.filter(({ refused }) => refused !== null);
  const place = { name: nameOf(chosen.need), queue: chosen.queue };
  return (
    <section aria-labelledby="story-placement" className="flex flex-col gap-2">
      <h2 id="story-placement" className="mb-1 text-sm font-medium">
        {t("title")}
      </h2>
      <p className="text-sm">{t(isLive ? "chosen" : "chosenAway", place)}</p>
      <DowngradeNote job={job} />
      {others.length === 0 ? null : (
        <details className="text-xs">
          <summary className="text-quiet hover:text-ink">{t("others", { count: others.length })}</summary>
          <ul className="mt-2 divide-y divide-line border-y border-line">
            {others.map((one) => (
              <li
                key={`${one.need} ${one.queue ?? ""}`}
                className="flex justify-between gap-6 py-2 max-sm:flex-col max-sm:gap-0.5"
              >
                <span>
                  {nameOf(one.need)}
                  {one.queue === null ? null : <span className="text-quiet">{` · ${one.queue}`}</span>}
                </span>
                <span className="tabular text-quiet sm:text-end">{why(one)}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

/** The providers that were asked for the job, oldest first: how each ended, and what it cost. */
export function StoryAttempts({ job }: { readonly job: JobView }) {
  const t = useTranslations("cloud");
  const nameOf = useCloudNames();
  const usd = useDollars();
  const { data } = useQuery({
    // The revision rises with each attempt.
    queryKey: [...keys.jobAttempts(job.id), job.revision],
    queryFn: () => api.cloud.attempts.query({ id: job.id }),
    enabled: job.engine === "cloud",
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  });
  if (job.engine !== "cloud" || data === undefined || data.items.length === 0) return null;
  return (
    <section aria-labelledby="story-attempts">
      <h2 id="story-attempts" className="mb-2 text-sm font-medium">
        {t("attempts")}
      </h2>
      <ol aria-labelledby="story-attempts" className="divide-y divide-line border-y border-line text-xs">
        {data.items.map(({ provider, state, errorClass, words, costUsd, priceUsd, createdAt }) => (
          <li
            key={`${provider} ${createdAt}`}
            className="flex justify-between gap-6 py-2 max-sm:flex-col max-sm:gap-0.5"
          >
            <span>
              {t("attempt", {
                provider: nameOf("providers", provider),
                state: nameOf("states", state),
              })}
              {errorClass === null ? null : (
                <span className="text-quiet">{` · ${nameOf("reasons", errorClass)}`}</span>
              )}
              {words === null ? null : <q className="ms-1 text-quiet">{words}</q>}
            </span>
            <span className="tabular text-quiet sm:text-end">
              {costOf({ state, costUsd, priceUsd }, { t, usd })}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

type CloudTexts = ReturnType<typeof useTranslations<"cloud">>;

interface AttemptCost {
  readonly state: string;
  readonly costUsd: number | null;
  readonly priceUsd: number | null;
}

/** What an attempt cost; a failed one without a stated cost is not charged. */
function costOf(
  { state, costUsd, priceUsd }: AttemptCost,
  { t, usd }: { readonly t: CloudTexts; readonly usd: (amount: number) => string },
): string {
  if (costUsd !== null) return usd(costUsd);
  if (state === "failed" || state === "cancelled") return "–";
  return priceUsd === null ? t("noPrice") : t("priceAbout", { usd: usd(priceUsd) });
}
