"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Layers } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { useEffect } from "react";
import type { ListedBatch } from "@atelier/server/batches";
import { api } from "../client/api.ts";
import { byCursor, keys } from "../client/queries.ts";
import { live } from "../live/store.ts";
import { PagedList } from "../parts/paged-list.tsx";
import { Picture } from "../pictures/picture.tsx";
import { buttonStyle } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";
import { Progress } from "../ui/progress.tsx";
import { useBatchTexts } from "./batch-texts.ts";

const coversShown = 4;

/** The first results of a batch, or the sign of one before there are any. */
function Covers({ covers }: Pick<ListedBatch, "covers">) {
  return (
    <span className="grid size-14 shrink-0 grid-cols-2 gap-px overflow-hidden rounded-control bg-well">
      {covers.length === 0 ? (
        <Layers className="col-span-2 m-auto size-4 text-edge" strokeWidth={1.5} aria-hidden />
      ) : (
        covers
          .slice(0, covers.length < coversShown ? 1 : coversShown)
          .map(({ imageId, thumbhash }) => (
            <Picture
              key={imageId}
              imageId={imageId}
              variant="thumbnail"
              thumbhash={thumbhash}
              alt=""
              className={covers.length < coversShown ? "col-span-2 size-14" : "size-7"}
            />
          ))
      )}
    </span>
  );
}

function BatchRow({ batch }: { readonly batch: ListedBatch }) {
  const t = useTranslations("batches");
  const format = useFormatter();
  const { name, state } = useBatchTexts();
  return (
    <li className="transition-colors duration-120 hover:bg-hover/50">
      <Link
        href={`/batches/${batch.id}`}
        className="grid grid-cols-[56px_minmax(0,1fr)_auto] items-center gap-x-4 rounded-control py-2.5"
      >
        <Covers covers={batch.covers} />
        <span className="flex min-w-0 flex-col gap-1.5">
          <span className="truncate text-sm font-medium">{name(batch)}</span>
          <span className="tabular truncate text-xs text-quiet">{state(batch)}</span>
          {batch.status === "open" ? <Progress value={batch.progress} label={t("progress")} /> : null}
        </span>
        <time dateTime={batch.createdAt} className="tabular text-end text-xs text-quiet max-sm:hidden">
          {format.dateTime(new Date(batch.createdAt), {
            day: "numeric",
            month: "short",
            hour: "2-digit",
            minute: "2-digit",
          })}
        </time>
      </Link>
    </li>
  );
}

/** The batches of the user, newest first. */
export function BatchList() {
  const t = useTranslations("batches");
  const query = useInfiniteQuery({
    queryKey: keys.batchList,
    queryFn: ({ pageParam }) => api.batches.list.query({ cursor: pageParam ?? undefined, limit: 50 }),
    ...byCursor,
  });
  const { refetch } = query;
  // Each end of a job moves a bar of this list; a read that is under way serves those that end meanwhile.
  useEffect(() => live.onEnd(() => void refetch({ cancelRefetch: false })), [refetch]);
  const batches = query.data?.pages.flatMap((page) => page.items);
  return (
    <PagedList
      label={t("list")}
      query={query}
      items={batches}
      row={(batch) => <BatchRow key={batch.id} batch={batch} />}
      empty={
        <EmptyState title={t("emptyTitle")} text={t("emptyText")}>
          <Link href="/create" className={buttonStyle("plain")}>
            {t("emptyAction")}
          </Link>
        </EmptyState>
      }
    />
  );
}
