"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { DowngradeNote } from "./downgrade-note.tsx";
import { useNeedName } from "./use-need-name.ts";

type Placement = NonNullable<JobView["placement"]>;
type Weighed = Placement["weighed"][number];

/** Why a place was not taken, in words. */
function useWhy(): (weighed: Weighed) => string {
  const t = useTranslations("placement");
  return ({ refused, waitS }) => {
    const why = t(`refused.${refused ?? "none"}`);
    return waitS === null || waitS < 1 ? why : `${why} ${t("wait", { seconds: waitS })}`;
  };
}

/** Where the job was put, and what else was weighed. */
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
                <span className="tabular text-quiet sm:text-right">{why(one)}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
