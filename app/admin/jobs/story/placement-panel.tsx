"use client";
import type { AnyStory } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { Panel } from "../../parts/panel.tsx";
import { formatSpan } from "../../parts/span.ts";

type Placement = NonNullable<AnyStory["placement"]>;

function Weighed({ weighed }: Pick<Placement, "weighed">) {
  const t = useTranslations("admin.story");
  return (
    <ul aria-label={t("weighed")} className="mt-3 divide-y divide-line border-y border-line text-xs">
      {weighed.map(({ queue, need, waitS, refused }) => (
        <li
          key={`${queue} ${need}`}
          className="tabular flex flex-wrap justify-between gap-x-6 gap-y-0.5 py-2"
        >
          <span className={refused === null ? "font-medium" : undefined}>
            {queue === null ? need : `${queue} · ${need}`}
          </span>
          <span className="text-quiet">
            {[
              waitS === null ? null : t("waitOf", { span: formatSpan(waitS * 1_000) }),
              refused === null ? t("chosen") : t(`refused.${refused}`),
            ]
              .filter((part) => part !== null)
              .join(" · ")}
          </span>
        </li>
      ))}
    </ul>
  );
}

function WaitPromise({ estimate }: { readonly estimate: NonNullable<AnyStory["estimate"]> }) {
  const t = useTranslations("admin.story");
  const [low, high] = estimate.waitMs.map(formatSpan);
  return (
    <p className="tabular mt-3 text-xs text-quiet">
      {`${t("promise")}: ${t("promiseText", { position: estimate.position + 1, low: low ?? "", high: high ?? "", runs: estimate.runs })}`}
    </p>
  );
}

/** Where it was placed and why, what else was weighed, and what its owner was told about the wait. */
export function PlacementPanel({ job: { placement, estimate } }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.story");
  if (placement === null && estimate === null) return null;
  return (
    <Panel title={t("placement")}>
      {placement === null ? null : (
        <>
          <p className="text-sm">{t(placement.isLive ? "placed" : "placedDead", placement.chosen)}</p>
          {placement.downgrade === undefined ? null : (
            <p className="mt-1 text-sm text-warn">
              {t("downgrade", {
                from: placement.downgrade.from,
                reason: placement.downgrade.reason.replaceAll("_", " "),
              })}
            </p>
          )}
          {placement.weighed.length === 0 ? null : <Weighed weighed={placement.weighed} />}
        </>
      )}
      {estimate === null || placement?.isLive === false ? null : <WaitPromise estimate={estimate} />}
    </Panel>
  );
}
