"use client";
import { useQueries } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import type { ImageView } from "@atelier/server/images";
import type { JobView } from "@atelier/server/jobs";
import { shownKind } from "../client/kinds.ts";
import { makingQuery } from "../client/source.ts";
import { promptsOf } from "../jobs/params.ts";
import { useParamFacts } from "../jobs/placement.tsx";
import { cx } from "../ui/button.tsx";
import { WordChanges } from "../ui/word-changes.tsx";

/** A setting of each of the compared pictures; "" where one has none. */
export interface ComparedSetting {
  readonly name: string;
  readonly values: readonly string[];
  /** A text, whose words are compared. */
  readonly isText: boolean;
}

interface Setting {
  readonly name: string;
  readonly value: string;
  readonly isText?: true;
}

/** The settings of several pictures beside each other, in the order in which they first come. */
export function besideEachOther(all: readonly (readonly Setting[])[]): readonly ComparedSetting[] {
  const names = new Map(all.flat().map(({ name, isText }) => [name, isText === true]));
  return [...names].map(([name, isText]) => ({
    name,
    isText,
    values: all.map((settings) => settings.find((setting) => setting.name === name)?.value ?? ""),
  }));
}

export const isSame = ({ values }: ComparedSetting): boolean => values.every((value) => value === values[0]);

/** What is known of how a picture was made; of a job that is no more, its kind. */
function useSettingsOf() {
  const t = useTranslations("compare");
  const jobs = useTranslations("jobs");
  const pictures = useTranslations("pictures");
  const params = useTranslations("params");
  const factsOf = useParamFacts();
  return (image: ImageView, job: JobView | undefined): readonly Setting[] => {
    const size = pictures("size", { width: image.widthPx, height: image.heightPx });
    const kind = job === undefined ? image.kind : shownKind(job);
    const { prompt, negativePrompt } = promptsOf(job?.params ?? {});
    return [
      { name: t("kind"), value: kind === null ? t("upload") : jobs(`kinds.${kind}`) },
      { name: t("prompt"), value: prompt, isText: true },
      { name: params("negativePrompt"), value: negativePrompt, isText: true },
      { name: t("model"), value: job?.model ?? "" },
      { name: t("size"), value: size },
      ...factsOf(job)
        .filter(([name]) => name !== t("size"))
        .map(([name, value]) => ({ name, value })),
    ];
  };
}

interface RowProps {
  readonly name: string;
  readonly children: ReactNode;
}

function Row({ name, children }: RowProps) {
  return (
    <div className="grid gap-x-4 gap-y-1 py-2 md:grid-cols-[112px_minmax(0,1fr)]">
      <dt className="text-quiet">{name}</dt>
      {children}
    </div>
  );
}

interface ValuesProps {
  readonly setting: ComparedSetting;
  readonly names: readonly string[];
}

/** What each picture has; the words of a text beside those of the first one. */
function Values({ setting: { values, isText }, names }: ValuesProps) {
  const [first = ""] = values;
  return (
    <dd className="grid gap-x-4 gap-y-1 md:auto-cols-fr md:grid-flow-col">
      {values.map((value, at) => (
        <p key={names[at]} className="flex min-w-0 gap-2">
          <span className="shrink-0 text-quiet">{names[at]}</span>
          <span className="tabular min-w-0 break-words">
            {isText && at > 0 && value !== "" && first !== "" ? (
              <WordChanges before={first} after={value} />
            ) : (
              value || "–"
            )}
          </span>
        </p>
      ))}
    </dd>
  );
}

interface Props {
  readonly images: readonly ImageView[];
  /** What the pictures are called, in their order. */
  readonly names: readonly string[];
  readonly className: string;
}

/** In which settings pictures differ; those that are the same for all can be looked at. */
export function ComparedSettings({ images, names, className }: Props) {
  const t = useTranslations("compare");
  const settingsOf = useSettingsOf();
  // Several may be of one job.
  const jobIds = [...new Set(images.flatMap(({ jobId }) => jobId ?? []))];
  const jobs = useQueries({ queries: jobIds.map((jobId) => makingQuery({ jobId })) });
  if (jobs.some(({ isLoading }) => isLoading))
    return <p className={cx("text-xs text-quiet", className)}>{t("reading")}</p>;
  const jobOf = ({ jobId }: ImageView) => jobs.find(({ data }) => data?.id === jobId)?.data;
  const settings = besideEachOther(images.map((image) => settingsOf(image, jobOf(image))));
  const differing = settings.filter((setting) => !isSame(setting));
  const equal = settings.filter((setting) => isSame(setting) && setting.values[0] !== "");
  return (
    <div
      role="group"
      aria-label={t("differences")}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
      tabIndex={0}
      className={cx("flex flex-col gap-2 overflow-y-auto text-xs focus-visible:-outline-offset-2", className)}
    >
      {differing.length === 0 ? (
        <p className="text-quiet">{t("same")}</p>
      ) : (
        <dl className="divide-y divide-line">
          {differing.map((setting) => (
            <Row key={setting.name} name={setting.name}>
              <Values setting={setting} names={names} />
            </Row>
          ))}
        </dl>
      )}
      {equal.length === 0 ? null : (
        <details>
          <summary className="text-quiet hover:text-ink">{t("equal", { count: equal.length })}</summary>
          <dl className="mt-1 divide-y divide-line">
            {equal.map(({ name, values }) => (
              <Row key={name} name={name}>
                <dd className="tabular min-w-0 break-words">{values[0]}</dd>
              </Row>
            ))}
          </dl>
        </details>
      )}
    </div>
  );
}
