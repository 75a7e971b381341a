"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { RotateCcw, Trash2, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { api } from "../client/api.ts";
import { useStudioNow } from "../client/use-clock.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { callFor } from "../pictures/actions.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { Confirmation } from "../ui/confirmation.tsx";
import { toastDone } from "../ui/toasts.tsx";
import type { Selection } from "./selection.tsx";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** On a tile of the trash: how long the picture is still there. */
export function TrashBadge({ until }: { readonly until: string }) {
  const t = useTranslations("trash");
  const now = useStudioNow(hourMs);
  const days = Math.floor((Date.parse(until) - now) / dayMs);
  return (
    <span className="pointer-events-none absolute top-1.5 inset-e-1.5 flex h-[18px] items-center rounded-[4px] bg-black/65 px-1.5 text-[11px] font-medium text-white">
      {t("daysLeft", { count: days })}
    </span>
  );
}

/** Reads again what a change of the trash may show. */
function useRefresh() {
  const queries = useQueryClient();
  return () =>
    Promise.all(
      [keys.images, keys.boards, keys.tags, keys.usage, keys.wardrobe].map((queryKey) =>
        queries.invalidateQueries({ queryKey }),
      ),
    );
}

type Act = "restore" | "deleteForGood";

/** Restores pictures of the trash, or deletes them for good. */
function useTrashAct(act: Act) {
  const t = useTranslations("trash");
  const onError = useFailureToast();
  const refresh = useRefresh();
  return useMutation({
    mutationFn: async (ids: readonly string[]) => {
      let count = 0;
      const { failure } = await callFor(ids, async (some) => {
        count += (await api.images[act].mutate({ ids: some })).ids.length;
      });
      if (failure) throw failure.error;
      return count;
    },
    onSuccess: (count) => toastDone(t(act === "restore" ? "restored" : "gone", { count })),
    onError,
    onSettled: refresh,
  });
}

/** What the trash is, and a button that empties it; an empty one says so elsewhere. */
export function TrashNote({ isEmpty }: { readonly isEmpty: boolean }) {
  const t = useTranslations("trash");
  const [isAsking, setAsking] = useState(false);
  const onError = useFailureToast();
  const refresh = useRefresh();
  const empty = useMutation({
    mutationFn: () => api.images.emptyTrash.mutate(),
    onSuccess: ({ pictures }) => toastDone(t("gone", { count: pictures })),
    onError,
    onSettled: async () => {
      setAsking(false);
      await refresh();
    },
  });
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 not-empty:py-2">
      {isEmpty ? null : (
        <>
          <p className="text-xs text-quiet">{t("note")}</p>
          <Button size="small" onClick={() => setAsking(true)}>
            {t("empty")}
          </Button>
        </>
      )}
      <Confirmation
        open={isAsking}
        onOpenChange={setAsking}
        title={t("emptyTitle")}
        keep={t("keep")}
        confirm={t("empty")}
        isBusy={empty.isPending}
        onConfirm={() => empty.mutate()}
      >
        {t("emptyText")}
      </Confirmation>
    </div>
  );
}

/** What can be done with chosen pictures of the trash. */
export function TrashBar({ selection }: { readonly selection: Selection }) {
  const t = useTranslations("trash");
  const gallery = useTranslations("gallery");
  const [isAsking, setAsking] = useState(false);
  const restore = useTrashAct("restore");
  const remove = useTrashAct("deleteForGood");
  const ids = selection.images.map(({ id }) => id);
  if (ids.length === 0) return null;
  return (
    <div
      role="toolbar"
      data-selection-bar
      aria-label={gallery("selection")}
      className="stage fixed bottom-[calc(var(--tabs)+12px)] left-1/2 z-40 flex h-12 max-w-[calc(100vw-16px)] -translate-x-1/2 items-center gap-1 rounded-full bg-raised! pe-2 ps-5 whitespace-nowrap shadow-float max-sm:gap-0 max-sm:pe-1 max-sm:ps-4 wide:bottom-5"
    >
      <p role="status" className="tabular me-3 text-xs font-medium whitespace-nowrap max-sm:me-1">
        {/* On a phone the number alone, and words without icons: those of some languages leave no room. */}
        <span aria-hidden data-count={ids.length} className="before:content-[attr(data-count)] sm:hidden" />
        <span className="max-sm:sr-only">{gallery("selected", { count: ids.length })}</span>
      </p>
      <Button
        look="quiet"
        size="small"
        onClick={() => {
          restore.mutate(ids);
          selection.clear();
        }}
      >
        <RotateCcw className="max-sm:hidden" aria-hidden />
        {t("restore")}
      </Button>
      <Button look="quiet" size="small" onClick={() => setAsking(true)}>
        <Trash2 className="max-sm:hidden" aria-hidden />
        {t("deleteForGood")}
      </Button>
      <IconButton label={gallery("clearSelection")} side="top" onClick={selection.clear}>
        <X aria-hidden />
      </IconButton>
      <Confirmation
        open={isAsking}
        onOpenChange={setAsking}
        title={t("confirmTitle", { count: ids.length })}
        keep={t("keep")}
        confirm={t("deleteForGood")}
        onConfirm={() => {
          setAsking(false);
          remove.mutate(ids);
          selection.clear();
        }}
      >
        {t("confirmText")}
      </Confirmation>
    </div>
  );
}
