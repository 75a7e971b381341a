"use client";
import { type InfiniteData, useMutation, useQueryClient } from "@tanstack/react-query";
import { Maximize2, Scissors, Sparkles, Star } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { ImageView } from "@atelier/server/images";
import { api } from "../client/api.ts";
import { useFailureToast } from "../client/failures.ts";
import { keys, useCapabilities, useCapability, useImage } from "../client/queries.ts";
import { useSubmit } from "../client/submit.ts";
import { buttonStyle, cx, IconButton } from "../ui/button.tsx";
import { Menu, MenuItem } from "../ui/overlays.tsx";
import { toastDone, toastWithUndo } from "../ui/toasts.tsx";

/** The list in pieces of at most `size`, in order. */
export function chunksOf<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  );
}

/** As many as the server takes in one call. */
export const idsPerCall = 500;

interface CallsMade {
  /** The ids of the calls that were answered. */
  readonly done: readonly string[];
  /** Why the rest was not tried; null when all calls were answered. */
  readonly failure: { readonly error: unknown } | null;
}

/** Calls for one piece of the ids after the other, until one call fails. */
export async function callFor(
  ids: readonly string[],
  call: (ids: string[]) => Promise<unknown>,
): Promise<CallsMade> {
  const done: string[] = [];
  for (const chunk of chunksOf(ids, idsPerCall)) {
    try {
      await call(chunk);
    } catch (error) {
      return { done, failure: { error } };
    }
    done.push(...chunk);
  }
  return { done, failure: null };
}

type Picture = Pick<ImageView, "widthPx" | "heightPx">;

interface UpscaleOffer {
  /** What it becomes. */
  readonly size: string;
  readonly isPossible: boolean;
  /** Why it cannot be done, or has to wait. */
  readonly reason: string | null;
}

/** The upscaled size of a picture, and whether that size is allowed. */
export function useUpscaleOffer(image: Picture, scale: 2 | 4 = 2): UpscaleOffer {
  const t = useTranslations("pictures");
  const capability = useCapability("upscale");
  const maxPixels = useCapabilities()?.limits.maxOutputPixels ?? Infinity;
  const width = image.widthPx * scale;
  const height = image.heightPx * scale;
  const size = t("size", { width, height });
  const reason = capability?.reason ?? null;
  if (capability?.available === false) return { size, isPossible: false, reason: reason ?? t("noEngine") };
  if (width * height <= maxPixels) return { size, isPossible: true, reason };
  const max = Math.round(maxPixels / 1_000_000);
  return { size, isPossible: false, reason: t("tooLarge", { size, max }) };
}

/** What an engine can do with a picture at one click; the result comes to the gallery. */
export function QuickActions({ image }: { readonly image: ImageView }) {
  const t = useTranslations("pictures");
  const submit = useSubmit(() => toastDone(t("started")));
  const upscale = useUpscaleOffer(image);
  const cutOut = useCapability("remove_background");
  return (
    <Menu
      align="end"
      trigger={
        <button type="button" className={buttonStyle("quiet", "small")}>
          <Sparkles aria-hidden />
          <span className="max-sm:sr-only">{t("process")}</span>
        </button>
      }
    >
      <MenuItem
        disabled={!upscale.isPossible}
        onSelect={() => submit.mutate({ kind: "upscale", inputs: { image: image.id } })}
      >
        <Maximize2 aria-hidden />
        <span>
          {t("upscale")}
          <span className="tabular block text-xs text-quiet">{upscale.reason ?? upscale.size}</span>
        </span>
      </MenuItem>
      <MenuItem
        disabled={cutOut?.available === false}
        onSelect={() => submit.mutate({ kind: "remove_background", inputs: { image: image.id } })}
      >
        <Scissors aria-hidden />
        <span>
          {t("cutOut")}
          <span className="block text-xs text-quiet empty:hidden">{cutOut?.reason}</span>
        </span>
      </MenuItem>
    </Menu>
  );
}

interface Input {
  readonly ids: readonly string[];
  readonly starred: boolean;
}

export function useStar() {
  const queries = useQueryClient();
  const onError = useFailureToast();
  return useMutation({
    mutationFn: ({ ids, starred }: Input) =>
      Promise.all(ids.map((id) => api.images.star.mutate({ id, starred }))),
    onSuccess: (images) => {
      for (const image of images) queries.setQueryData(keys.image(image.id), image);
    },
    onError: (error, { ids }) => {
      onError(error);
      // One of them failed; the others may have their star.
      for (const id of ids) void queries.invalidateQueries({ queryKey: keys.image(id) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.imageLists }),
  });
}

export function StarButton({ imageId }: { readonly imageId: string }) {
  const t = useTranslations("pictures");
  const { data } = useImage(imageId);
  const star = useStar();
  const starred = data?.starred ?? false;
  return (
    <IconButton
      label={starred ? t("unstar") : t("star")}
      pressed={starred}
      onClick={() => star.mutate({ ids: [imageId], starred: !starred })}
    >
      <Star className={cx(starred && "fill-current")} aria-hidden />
    </IconButton>
  );
}

type Pages = InfiniteData<{ readonly items: readonly ImageView[]; readonly nextCursor: string | null }>;

/** Loaded pages of a list less some pictures. */
function withoutImages(ids: ReadonlySet<string>) {
  return (data: Pages | undefined): Pages | undefined =>
    data && {
      ...data,
      pages: data.pages.map((page) => ({ ...page, items: page.items.filter((image) => !ids.has(image.id)) })),
    };
}

/** Takes pictures away at once and offers to bring them back. */
export function useRemoveImages(): (ids: readonly string[]) => void {
  const t = useTranslations("pictures");
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  return useCallback(
    (ids) => {
      const freshen = () => {
        void queries.invalidateQueries({ queryKey: keys.imageLists });
        void queries.invalidateQueries({ queryKey: keys.allRecentInputs });
        void queries.invalidateQueries({ queryKey: keys.jobLists });
        for (const id of ids) void queries.invalidateQueries({ queryKey: keys.image(id) });
      };
      const showFailed = ({ failure }: CallsMade) => failure && showFailure(failure.error);
      const restore = (removed: readonly string[]) =>
        callFor(removed, (some) => api.images.restore.mutate({ ids: some }))
          .then(showFailed)
          .finally(freshen);
      const offerUndo = (removed: readonly string[]) =>
        toastWithUndo({
          title: t("removed", { count: removed.length }),
          undoLabel: t("undo"),
          onUndo: () => void restore(removed),
        });
      const remove = async () => {
        // A list that is on its way would bring the pictures back.
        await queries.cancelQueries({ queryKey: keys.imageLists });
        queries.setQueriesData({ queryKey: keys.imageLists }, withoutImages(new Set(ids)));
        const made = await callFor(ids, (some) => api.images.remove.mutate({ ids: some }));
        if (made.done.length > 0) offerUndo(made.done);
        showFailed(made);
      };
      void remove().finally(freshen);
    },
    [queries, showFailure, t],
  );
}
