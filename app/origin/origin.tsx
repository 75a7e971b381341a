"use client";
import { useMutation } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { useCallback } from "react";
import { z } from "zod";
import { failureOf, useFailureText } from "../ui/failures.ts";
import { sessionFetch } from "../client/session.ts";
import { PageHeader } from "../parts/page-parts.tsx";
import { useFilePicker, useFileTarget } from "../uploads/drop.tsx";
import { Button, buttonStyle } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";
import { type Fact, Facts } from "../ui/facts.tsx";

/** What the page shows of the answer of `POST /api/v1/identify`. */
const foundSchema = z.object({
  statement: z
    .object({
      state: z.enum(["valid", "changed", "broken"]),
      signer: z.string().nullable(),
      isOwnSigner: z.boolean(),
      generator: z.string().nullable(),
      steps: z.array(
        z.object({
          action: z.string(),
          digitalSourceType: z.string().nullable(),
          software: z.string().nullable(),
          at: z.string().nullable(),
        }),
      ),
    })
    .nullable(),
  isPicture: z.boolean(),
  watermark: z.object({ isOwn: z.boolean() }).nullable(),
  isOurs: z.boolean(),
  madeAt: z.string().nullable(),
  record: z.object({ imageId: z.string(), isOwn: z.boolean() }).nullable(),
});

type Found = z.infer<typeof foundSchema>;

async function ask(file: File): Promise<Found> {
  const body = new FormData();
  body.append("file", file);
  const response = await sessionFetch("/api/v1/identify", { method: "POST", body });
  const answer: unknown = await response.json();
  if (!response.ok) throw new Error("refused", { cause: answer });
  return foundSchema.parse(answer);
}

/** Says where a dropped picture comes from, as far as its file shows it. */
export function Origin() {
  const t = useTranslations("origin");
  const { mutate, data, error, isPending, variables: file } = useMutation({ mutationFn: ask });
  const take = useCallback((files: File[]) => files[0] && mutate(files[0]), [mutate]);
  useFileTarget(take);
  const pick = useFilePicker(take);
  const button = (
    <Button look="primary" disabled={isPending} onClick={() => pick()}>
      {t(isPending ? "asking" : "choose")}
    </Button>
  );
  return (
    <>
      <PageHeader title={t("title")} />
      {file ? (
        <section className="mx-auto grid max-w-4xl items-start gap-x-8 gap-y-6 px-4 pt-2 pb-10 sm:px-6 md:grid-cols-[minmax(0,18rem)_minmax(0,1fr)] md:pt-6 has-[img[hidden]]:max-w-[60ch] md:has-[img[hidden]]:grid-cols-1">
          <Asked key={`${file.name} ${file.size} ${file.lastModified}`} file={file} />
          <div aria-live="polite" className="flex min-w-0 flex-col gap-4">
            {error ? <Refused error={error} /> : null}
            {data ? <Answer found={data} /> : null}
            <div className="flex flex-wrap gap-2">
              {data?.record?.isOwn ? (
                <Link href={`/gallery?image=${data.record.imageId}`} className={buttonStyle()}>
                  {t("show")}
                </Link>
              ) : null}
              {button}
            </div>
          </div>
        </section>
      ) : (
        <EmptyState title={t("start")} text={t("startText")}>
          {button}
        </EmptyState>
      )}
    </>
  );
}

/** The file that the answer is about. One that the browser cannot show is named alone. */
function Asked({ file }: { readonly file: File }) {
  const show = useCallback(
    (image: HTMLImageElement) => {
      const url = URL.createObjectURL(file);
      image.src = url;
      return () => URL.revokeObjectURL(url);
    },
    [file],
  );
  return (
    <figure className="flex min-w-0 flex-col gap-2">
      <img
        ref={show}
        alt=""
        className="max-h-72 w-full rounded-md border border-line bg-surface object-contain"
        onError={({ currentTarget }) => {
          currentTarget.hidden = true;
        }}
      />
      <figcaption className="text-xs break-words text-quiet">{file.name}</figcaption>
    </figure>
  );
}

function Refused({ error }: { readonly error: Error }) {
  const { title, advice } = useFailureText()(failureOf(error.cause ?? error));
  return (
    <>
      <h2 className="display text-xl">{title}</h2>
      <p className="text-sm text-quiet">{advice}</p>
    </>
  );
}

type Verdict =
  | "ours"
  | "passed"
  | "changed"
  | "marked"
  | "otherMark"
  | "foreign"
  | "broken"
  | "none"
  | "unreadable";

function verdictOf(found: Found): Verdict {
  const { statement, watermark, isOurs } = found;
  if (isOurs && watermark?.isOwn) return "marked";
  if (!statement) return unstatedVerdict(found);
  if (statement.state === "broken") return "broken";
  if (!statement.isOwnSigner) return "foreign";
  if (statement.state === "changed") return "changed";
  return isOurs ? "ours" : "passed";
}

function unstatedVerdict({ watermark, isPicture }: Found): Verdict {
  if (watermark) return "otherMark";
  return isPicture ? "none" : "unreadable";
}

/** The terms of C2PA and IPTC that the page has words for; others are shown as they are. */
const actionNames = {
  "c2pa.created": "created",
  "c2pa.opened": "opened",
  "c2pa.edited": "edited",
  "c2pa.edited.metadata": "metadata",
  "c2pa.transcoded": "transcoded",
  "c2pa.converted": "transcoded",
  "c2pa.cropped": "cropped",
  "c2pa.resized": "resized",
  "c2pa.color_adjustments": "colours",
  "c2pa.watermarked.unbound": "watermarked",
  "c2pa.watermarked.bound": "watermarked",
} as const;
const sourceNames = {
  trainedAlgorithmicMedia: "ai",
  compositeWithTrainedAlgorithmicMedia: "partlyAi",
  humanEdits: "person",
  digitalCapture: "camera",
} as const;

const isKeyOf = <Names extends object>(names: Names, key: string): key is Extract<keyof Names, string> =>
  Object.hasOwn(names, key);

type Step = NonNullable<Found["statement"]>["steps"][number];

/** A step in one line: what was done, by what, with which program and when. */
function useStepText(): (step: Step) => string {
  const t = useTranslations("origin");
  const day = useDay();
  return ({ action, digitalSourceType, software, at }) => {
    const source = digitalSourceType?.split("/").at(-1) ?? "";
    const parts = [
      isKeyOf(actionNames, action) ? t(`actions.${actionNames[action]}`) : action,
      isKeyOf(sourceNames, source) ? t(`sources.${sourceNames[source]}`) : source,
      software,
      at === null ? null : day(at),
    ];
    return parts.filter(Boolean).join(" · ");
  };
}

function useDay() {
  const format = useFormatter();
  return (at: string) => format.dateTime(new Date(at), { dateStyle: "long", timeStyle: "short" });
}

function Answer({ found }: { readonly found: Found }) {
  const t = useTranslations("origin");
  const day = useDay();
  const stepText = useStepText();
  const verdict = verdictOf(found);
  const { record, madeAt, statement } = found;
  const facts: Fact[] = [
    ...(madeAt === null ? [] : [[t("madeAt"), day(madeAt)] as const]),
    ...(statement?.generator ? [[t("generator"), statement.generator] as const] : []),
    ...(statement?.signer ? [[t("signer"), statement.signer] as const] : []),
    ...(statement?.steps ?? []).map((step, at) => [t("step", { number: at + 1 }), stepText(step)] as const),
  ];
  return (
    <>
      <h2 className="display text-xl">{t(`verdicts.${verdict}.title`)}</h2>
      <p className="text-sm text-quiet">{t(`verdicts.${verdict}.text`)}</p>
      <Facts rows={facts} />
      {record && !record.isOwn ? <p className="text-sm text-quiet">{t("ofSomebodyElse")}</p> : null}
    </>
  );
}
