"use client";
import { useQueries } from "@tanstack/react-query";
import { Ban, Download, LayoutGrid, RotateCcw, Trash2 } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useRouter } from "next/navigation";
import { useMemo } from "react";
import type { BatchWithJobs } from "@atelier/server/batches";
import { api } from "../client/api.ts";
import { failureOf } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { useViewerAddress, Viewer } from "../gallery/viewer/door.tsx";
import { useBatchTexts } from "../jobs/batch-texts.ts";
import { useJobFailureText } from "../jobs/text.ts";
import { ShareButton } from "../links/share.tsx";
import { LoadFailed, PageHeader } from "../parts/page-parts.tsx";
import { Button, buttonStyle, IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";
import { Progress } from "../ui/progress.tsx";
import { isCancelling, useBatch, useBatchActions } from "./batch.ts";
import { BatchGrid } from "./grid.tsx";

interface ActionsProps {
  readonly batch: BatchWithJobs;
}

/** The files of a batch are there once it has a result. */
function BatchFiles({ batch: { id } }: ActionsProps) {
  const t = useTranslations("batches");
  return (
    <>
      <a href={`/api/v1/batches/${id}/zip`} download className={buttonStyle("plain", "small")}>
        <Download aria-hidden />
        {t("zip")}
      </a>
      <a
        href={`/api/v1/batches/${id}/sheet`}
        download={`batch-${id}.png`}
        className={buttonStyle("plain", "small")}
      >
        <LayoutGrid aria-hidden />
        <span className="max-sm:sr-only">{t("sheet")}</span>
      </a>
      <ShareButton what={{ batchId: id }} look="plain" />
    </>
  );
}

function BatchActions({ batch }: ActionsProps) {
  const t = useTranslations("batches");
  const router = useRouter();
  const { cancel, retry, remove } = useBatchActions(batch.id);
  const { counts, status, jobs } = batch;
  const again = counts.failed + counts.cancelled;
  const isStopping = isCancelling(jobs);
  return (
    <>
      {again === 0 ? null : (
        <Button size="small" disabled={retry.isPending} onClick={() => retry.mutate()}>
          <RotateCcw aria-hidden />
          {t("retry", { count: again })}
        </Button>
      )}
      {counts.completed === 0 ? null : <BatchFiles batch={batch} />}
      {status === "open" ? (
        <Button size="small" disabled={cancel.isPending || isStopping} onClick={() => cancel.mutate()}>
          <Ban aria-hidden />
          {t(isStopping ? "cancelling" : "cancel")}
        </Button>
      ) : null}
      <IconButton
        label={t("remove")}
        disabled={remove.isPending}
        onClick={() => remove.mutate(undefined, { onSuccess: () => router.replace("/jobs?view=batches") })}
      >
        <Trash2 aria-hidden />
      </IconButton>
    </>
  );
}

/** Why an ended batch has no picture at all. */
function NothingMade({ batch }: ActionsProps) {
  const t = useTranslations("batches");
  const textOf = useJobFailureText();
  const { counts, size, status } = batch;
  if (status === "open" || counts.completed > 0) return null;
  if (counts.removed === size) return <EmptyState title={t("goneTitle")} text={t("goneText")} />;
  const failed = batch.jobs.find(({ job }) => job?.error)?.job?.error;
  const { title, advice } = failed ? textOf(failed) : { title: t("stoppedTitle"), advice: t("stoppedText") };
  return (
    <div role="alert" className="mb-6 rounded-card border border-line bg-well p-4">
      <p className="text-sm font-medium">{title}</p>
      <p className="measure mt-1 text-sm text-quiet">{advice}</p>
    </div>
  );
}

/** The results in the order of the batch, read only while one of them is shown large. */
function useResults({ jobs }: Pick<BatchWithJobs, "jobs">, isOpen: boolean) {
  const ids = useMemo(
    () => jobs.flatMap(({ job }) => (job?.outputs ?? []).map(({ imageId }) => imageId)),
    [jobs],
  );
  return useQueries({
    queries: (isOpen ? ids : []).map((id) => ({
      queryKey: keys.image(id),
      queryFn: () => api.images.get.query({ id }),
      staleTime: Infinity,
      retry: false,
    })),
    combine: (answers) => answers.flatMap(({ data }) => data ?? []),
  });
}

function Batch({ batch }: ActionsProps) {
  const t = useTranslations("batches");
  const { name, state, price } = useBatchTexts();
  const viewer = useViewerAddress();
  const images = useResults(batch, viewer.imageId !== null);
  return (
    <>
      <PageHeader title={name(batch)}>
        <BatchActions batch={batch} />
      </PageHeader>
      <div className="px-4 pb-10 sm:px-6 wide:px-8">
        <div className="mb-6 flex flex-col gap-2">
          <p role="status" className="tabular text-sm text-quiet">
            {`${state(batch)} · ${price(batch)}`}
          </p>
          {batch.status === "open" ? (
            <Progress value={batch.progress} label={t("progress")} className="max-w-[560px]" />
          ) : null}
        </div>
        <NothingMade batch={batch} />
        <BatchGrid batch={batch} openId={viewer.imageId} onOpen={viewer.open} />
      </div>
      <Viewer images={images} address={viewer} compares />
    </>
  );
}

/** One batch: its pictures as they come, and what one can do with all of them. */
export function BatchPage({ id }: { readonly id: string }) {
  const t = useTranslations("batches");
  const { batch, error, retry } = useBatch(id);
  if (batch !== undefined) return <Batch batch={batch} />;
  if (error === null) return <PageHeader title={t("title")} />;
  return failureOf(error).code === "not_found" ? (
    <EmptyState title={t("missingTitle")} text={t("missingText")}>
      <Link href="/jobs?view=batches" className={buttonStyle("plain")}>
        {t("all")}
      </Link>
    </EmptyState>
  ) : (
    <LoadFailed error={error} onRetry={retry} />
  );
}
