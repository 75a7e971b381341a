"use client";
import { RotateCcw, X } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { useRouter } from "next/navigation";
import type { ReactNode } from "react";
import type { AnyStory } from "@atelier/server/jobs";
import { api } from "../../client/api.ts";
import { useFailureText } from "../../ui/failures.ts";
import { hasEnded } from "../../live/store.ts";
import { Button } from "../../ui/button.tsx";
import { Facts } from "../../ui/facts.tsx";
import { Segmented } from "../../ui/fields.tsx";
import { ConfirmButton, useAdminAction } from "../controls.tsx";
import { useSpans, JobStatusChip, Panel } from "../parts.tsx";

/** Spans below this are shown as none: they would read "0.0 s". */
const noSpanMs = 50;

type Placement = NonNullable<AnyStory["placement"]>;

function Weighed({ weighed }: Pick<Placement, "weighed">) {
  const { span } = useSpans();
  const t = useTranslations("admin.story");
  const waitText = (ms: number) => (ms < noSpanMs ? t("noWait") : t("waitOf", { span: span(ms) }));
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
              waitS === null ? null : waitText(waitS * 1_000),
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
  const { span } = useSpans();
  const t = useTranslations("admin.story");
  const [low, high] = estimate.waitMs.map(span);
  return (
    <p className="tabular mt-3 text-xs text-quiet">
      {`${t("promise")}: ${t("promiseText", { position: estimate.position + 1, isAtOnce: String(estimate.waitMs[1] < noSpanMs), low: low ?? "", high: high ?? "", runs: estimate.runs })}`}
    </p>
  );
}

/** Queue and engine of the job with the reason, the other options, and the estimate that the owner saw. */
export function PlacementPanel({ job: { placement, estimate } }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.story");
  const causeOf = useFailureText();
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
                // Safe cast: a code of another version has the text of `internal`.
                reason: causeOf({ code: placement.downgrade.reason as "internal", message: "" }).title,
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

const tiers = ["low", "normal", "high", "urgent"] as const satisfies readonly AnyStory["tier"][];

function TierChoice({ job: { id, tier } }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.jobs");
  const change = useAdminAction((wanted: AnyStory["tier"]) =>
    api.admin.jobs.setTier.mutate({ id, tier: wanted }),
  );
  return (
    <Segmented
      label={t("tier")}
      value={change.isPending ? change.variables : tier}
      options={tiers.map((value) => ({ value, label: t(`tiers.${value}`) }))}
      onChange={(value) => change.mutate(value)}
    />
  );
}

/** Tier and cancel while the job is open; "Run again" after a failure. */
export function StoryActions({ job }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.story");
  const router = useRouter();
  const { id, status } = job;
  const cancel = useAdminAction(() => api.admin.jobs.cancel.mutate({ id }));
  const retry = useAdminAction(async () => {
    const { id: newId } = await api.admin.jobs.retry.mutate({ id });
    router.push(`/admin/jobs/${newId}`);
  });
  if (status === "completed") return null;
  if (hasEnded(job)) {
    return (
      <div>
        <Button size="small" disabled={retry.isPending} onClick={() => retry.mutate()}>
          <RotateCcw aria-hidden />
          {t("retry")}
        </Button>
      </div>
    );
  }
  return (
    <div className="flex flex-wrap items-center gap-3">
      <TierChoice job={job} />
      {job.cancelRequested ? null : (
        <ConfirmButton
          label={t("cancel")}
          question={t("cancelAsk")}
          confirm={t("cancelYes")}
          isPending={cancel.isPending}
          onConfirm={() => cancel.mutate()}
        >
          <X aria-hidden />
          {t("cancel")}
        </ConfirmButton>
      )}
    </div>
  );
}

const link = "underline underline-offset-4";

function useSpanBetween(): (from: string | null, to: string | null) => string {
  const { span } = useSpans();
  return (from, to) => (from === null || to === null ? "–" : span(Date.parse(to) - Date.parse(from)));
}

type Fact = readonly [string, ReactNode];

function usePeople(job: AnyStory): readonly Fact[] {
  const t = useTranslations("admin.story");
  const { owner, retryOf, retries } = job;
  const facts: Fact[] = [
    [
      t("owner"),
      <Link key="owner" href={`/admin/jobs?owner=${owner.id}`} className={link}>
        {owner.email ?? owner.name}
      </Link>,
    ],
  ];
  if (retryOf !== null)
    facts.push([
      t("retryOf"),
      <Link key="of" href={`/admin/jobs/${retryOf}`} className={link}>{`…${retryOf.slice(-12)}`}</Link>,
    ]);
  for (const { id, status } of retries)
    facts.push([
      t("retried"),
      <span key={id} className="inline-flex flex-wrap items-center justify-end gap-2">
        <Link href={`/admin/jobs/${id}`} className={link}>{`…${id.slice(-12)}`}</Link>
        <JobStatusChip status={status} />
      </span>,
    ]);
  return facts;
}

/** A link to the other jobs of the session. */
function sessionFacts({ sessionId }: AnyStory, label: string): readonly Fact[] {
  if (sessionId === null) return [];
  const href = `/admin/jobs?session=${encodeURIComponent(sessionId)}`;
  return [
    [
      label,
      <Link key="session" href={href} className={link}>
        {sessionId}
      </Link>,
    ],
  ];
}

/** Owner, node, server and times of the job. */
export function StoryFactList({ job }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.story");
  const spanBetween = useSpanBetween();
  const jobs = useTranslations("admin.jobs");
  const story = useTranslations("story.facts");
  const format = useFormatter();
  const moment = (iso: string | null) =>
    iso === null ? "–" : format.dateTime(new Date(iso), { dateStyle: "medium", timeStyle: "medium" });
  const people = usePeople(job);
  const rare: Fact[] = [
    ...(job.avoid.length > 0 ? [[t("avoid"), job.avoid.join(", ")] as const] : []),
    ...(job.externalId === null ? [] : [[t("externalId"), job.externalId] as const]),
    ...(job.notBefore === null ? [] : [[t("notBefore"), moment(job.notBefore)] as const]),
    ...(job.maxRetries === null ? [] : [[t("maxRetries"), String(job.maxRetries)] as const]),
    ...sessionFacts(job, t("session")),
    ...(job.requestId === null ? [] : [[t("requestId"), job.requestId] as const]),
  ];
  return (
    <Panel title={t("facts")}>
      <Facts
        rows={[
          ...people,
          [t("tier"), jobs(`tiers.${job.tier}`)],
          [t("queue"), job.queue],
          [t("need"), job.need],
          [t("node"), job.node ?? "–"],
          [t("server"), job.server ?? "–"],
          [t("attempts"), t("charged", { attempt: job.attempt, charged: job.charged })],
          ...rare,
          [story("created"), moment(job.createdAt)],
          [story("started"), moment(job.startedAt)],
          [story("ended"), moment(job.endedAt)],
          [t("waited"), spanBetween(job.createdAt, job.startedAt)],
          [t("ran"), spanBetween(job.startedAt, job.endedAt)],
          [t("retention"), t(`retentions.${job.retention}`)],
          [t("id"), job.id],
        ]}
      />
      {job.runAlone ? <p className="mt-3 text-xs text-quiet">{t("alone")}</p> : null}
    </Panel>
  );
}
