"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { RotateCcw, Trash2, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { callFor } from "../pictures/actions.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { Confirmation } from "../ui/confirmation.tsx";
import { toastDone } from "../ui/toasts.tsx";
import type { Selection } from "./selection.tsx";

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

/** What the trash is, and a button that empties it. */
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
    <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 py-2">
      <p className="text-xs text-quiet">{t("note")}</p>
      {isEmpty ? null : (
        <Button size="small" onClick={() => setAsking(true)}>
          {t("empty")}
        </Button>
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
      className="stage fixed bottom-[calc(var(--tabs)+12px)] left-1/2 z-40 flex h-12 -translate-x-1/2 items-center gap-1 rounded-full bg-raised! pe-2 ps-5 whitespace-nowrap shadow-float wide:bottom-5"
    >
      <p role="status" className="tabular me-3 text-xs font-medium whitespace-nowrap">
        {gallery("selected", { count: ids.length })}
      </p>
      <Button
        look="quiet"
        size="small"
        onClick={() => {
          restore.mutate(ids);
          selection.clear();
        }}
      >
        <RotateCcw aria-hidden />
        {t("restore")}
      </Button>
      <Button look="quiet" size="small" onClick={() => setAsking(true)}>
        <Trash2 aria-hidden />
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
