"use client";
import { useMutation } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { type ReactNode, useCallback } from "react";
import { z } from "zod";
import { failureOf, useFailureText } from "../client/failures.ts";
import { sessionFetch } from "../client/session.ts";
import { PageHeader } from "../parts/page-parts.tsx";
import { useFilePicker, useFileTarget } from "../uploads/drop.tsx";
import { Button, buttonStyle } from "../ui/button.tsx";
import { EmptyState, type Fact, Facts } from "../ui/display.tsx";

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
  const { mutate, data, error, isPending } = useMutation({ mutationFn: ask });
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
      <div aria-live="polite">
        {error ? <Refused error={error}>{button}</Refused> : null}
        {!error && data ? <Answer found={data}>{button}</Answer> : null}
        {!error && !data ? (
          <EmptyState title={t("start")} text={t("startText")}>
            {button}
          </EmptyState>
        ) : null}
      </div>
    </>
  );
}

interface RefusedProps {
  readonly error: Error;
  readonly children: ReactNode;
}

function Refused({ error, children }: RefusedProps) {
  const { title, advice } = useFailureText()(failureOf(error.cause ?? error));
  return (
    <EmptyState title={title} text={advice}>
      {children}
    </EmptyState>
  );
}

interface AnswerProps {
  readonly found: Found;
  readonly children: ReactNode;
}

type Verdict = "ours" | "passed" | "changed" | "marked" | "otherMark" | "foreign" | "broken" | "none";

function verdictOf({ statement, watermark, isOurs }: Found): Verdict {
  if (isOurs && watermark?.isOwn) return "marked";
  if (!statement) return watermark ? "otherMark" : "none";
  if (statement.state === "broken") return "broken";
  if (!statement.isOwnSigner) return "foreign";
  if (statement.state === "changed") return "changed";
  return isOurs ? "ours" : "passed";
}

function Answer({ found, children }: AnswerProps) {
  const t = useTranslations("origin");
  const format = useFormatter();
  const verdict = verdictOf(found);
  const day = (at: string) => format.dateTime(new Date(at), { dateStyle: "long", timeStyle: "short" });
  const { record, madeAt, statement } = found;
  const facts: Fact[] = [
    ...(madeAt === null ? [] : [[t("madeAt"), day(madeAt)] as const]),
    ...(statement?.generator ? [[t("generator"), statement.generator] as const] : []),
    ...(statement?.signer ? [[t("signer"), statement.signer] as const] : []),
    ...(statement?.steps ?? []).map(
      ({ action, digitalSourceType, software }, at) =>
        [
          t("step", { number: at + 1 }),
          [action, digitalSourceType?.split("/").at(-1), software].filter(Boolean).join(" · "),
        ] as const,
    ),
  ];
  return (
    <section className="mx-auto flex max-w-[60ch] flex-col gap-4 px-4 py-8 sm:px-6">
      <h2 className="display text-xl">{t(`verdicts.${verdict}.title`)}</h2>
      <p className="text-sm text-quiet">{t(`verdicts.${verdict}.text`)}</p>
      <Facts rows={facts} />
      {record && !record.isOwn ? <p className="text-sm text-quiet">{t("ofSomebodyElse")}</p> : null}
      <div className="flex flex-wrap gap-2">
        {record?.isOwn ? (
          <Link href={`/gallery?image=${record.imageId}`} className={buttonStyle()}>
            {t("show")}
          </Link>
        ) : null}
        {children}
      </div>
    </section>
  );
}
