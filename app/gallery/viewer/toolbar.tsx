"use client";
import {
  BringToFront,
  Columns2,
  Download,
  Images,
  Info,
  Pencil,
  Play,
  Repeat2,
  Trash2,
  X,
} from "lucide-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useEffect, useRef } from "react";
import type { ImageView } from "@atelier/server/images";
import { api } from "../../client/api.ts";
import { canLoadMore, keys, useCapabilities } from "../../client/queries.ts";
import { imageUrl } from "../../client/urls.ts";
import { mostCompared } from "../../compare/address.ts";
import { useOpenCompare } from "../../compare/opening.ts";
import { ShareButton } from "../../links/share.tsx";
import { useRemoveImages } from "../../pictures/actions.tsx";
import { CopyItem } from "../../pictures/copy.tsx";
import { useChangeCached } from "../../pictures/marks.tsx";
import { StarButton, QuickActions } from "../../pictures/quick-actions.tsx";
import { BoardButton } from "../../pictures/boards.tsx";
import { DownloadMenu } from "../../pictures/download-menu.tsx";
import { useImageName } from "../../pictures/picture.tsx";
import { TurnItems, type Turns } from "../../pictures/turn.tsx";
import { similarUrl } from "../near.tsx";
import { Button, buttonStyle, IconButton } from "../../ui/button.tsx";
import { useFailureToast } from "../../ui/failures.ts";
import { MenuItem } from "../../ui/overlays.tsx";
import { useNearEnd } from "../../ui/scrolling.ts";
import { toastWithUndo } from "../../ui/toasts.tsx";
import type { useStack } from "../stack.tsx";

interface Props {
  readonly image: ImageView;
  /** Number of this picture (from 1) among the pictures of the grid; null when the grid does not show it. */
  readonly position: { readonly number: number; readonly count: number } | null;
  /** URL for a remix; null when the kind has none. */
  readonly remix: string | null;
  /** With what it was made from; null while that is being read. */
  readonly canCompare: boolean | null;
  readonly isComparing: boolean;
  readonly isInfoOpen: boolean;
  readonly onCompare: () => void;
  readonly onInfo: () => void;
  readonly onClose: () => void;
  readonly onRemoved: () => void;
  readonly onTurn: (turns: Turns) => void;
  readonly onSlideshow: () => void;
}

export function ViewerToolbar(props: Props) {
  const {
    image,
    position,
    remix,
    canCompare,
    isComparing,
    isInfoOpen,
    onCompare,
    onInfo,
    onClose,
    onRemoved,
    onTurn,
    onSlideshow,
  } = props;
  const t = useTranslations("viewer");
  const name = useImageName(true)(image);
  const remove = useRemoveImages();
  const hasMeaning = useCapabilities()?.hasMeaning;
  return (
    <div
      role="toolbar"
      aria-label={t("toolbar")}
      className="flex min-h-14 shrink-0 flex-wrap items-center gap-1 px-2 pt-1.5 pb-1 sm:px-3 sm:py-0"
    >
      <IconButton label={t("close")} keys="Escape" onClick={onClose}>
        <X aria-hidden />
      </IconButton>
      <p className="min-w-0 flex-1 truncate ps-1 text-xs text-quiet max-sm:invisible">
        {name}
        {position === null ? null : <span className="tabular ms-3">{t("place", position)}</span>}
      </p>
      {/* On a phone a row of its own, below what stands beside it in the markup. */}
      <div className="flex items-center justify-center gap-1 max-sm:order-last max-sm:h-11 max-sm:w-full">
        {/* First, as it comes with what is read of the job: beside a button it would move that. */}
        {remix === null ? null : (
          <Link href={remix} className={buttonStyle("quiet", "small")}>
            <Repeat2 aria-hidden />
            {t("remix")}
          </Link>
        )}
        <QuickActions image={image}>
          <CopyItem imageId={image.id} />
          <TurnItems onTurn={onTurn} />
          <MenuItem onSelect={onSlideshow}>
            <Play aria-hidden />
            {t("slideshow.title")}
          </MenuItem>
        </QuickActions>
        <Link href={`/edit/${image.id}`} className={buttonStyle("quiet", "small")}>
          <Pencil aria-hidden />
          {t("edit")}
        </Link>
      </div>
      <span aria-hidden className="mx-1 h-5 w-px shrink-0 bg-line max-sm:hidden" />
      {image.jobId === null || canCompare === false ? null : (
        <IconButton label={t("compare")} pressed={isComparing} disabled={!canCompare} onClick={onCompare}>
          <Columns2 aria-hidden />
        </IconButton>
      )}
      <BoardButton imageIds={[image.id]} look="icon" />
      <StarButton id={image.id} starred={image.starred} />
      {hasMeaning ? (
        <Link
          href={similarUrl(image.id)}
          aria-label={t("similar")}
          title={t("similar")}
          className={buttonStyle("quiet", "small")}
        >
          <Images aria-hidden />
        </Link>
      ) : null}
      <ShareButton what={{ imageIds: [image.id] }} look="icon" />
      <DownloadMenu
        imageIds={[image.id]}
        align="end"
        trigger={
          <IconButton label={t("download")}>
            <Download aria-hidden />
          </IconButton>
        }
      />
      <IconButton
        label={t("remove")}
        keys="Delete"
        onClick={() => {
          remove([image.id]);
          onRemoved();
        }}
      >
        <Trash2 aria-hidden />
      </IconButton>
      <IconButton label={t("info")} keys="i" pressed={isInfoOpen} onClick={onInfo}>
        <Info aria-hidden />
      </IconButton>
    </div>
  );
}

/** Compares the newest pictures of a stack, the shown one among them. */
export function useCompareStack(members: readonly ImageView[], shownId: string): () => void {
  const open = useOpenCompare();
  return () => {
    const first = members.slice(0, mostCompared).map(({ id }) => id);
    if (first.length > 1) open(first.includes(shownId) ? first : [...first.slice(0, -1), shownId]);
  };
}

interface Choice {
  readonly id: string;
  readonly onTop: boolean;
}

/** Of the pictures of a stack the one that was chosen last to show it; undefined where the newest does. */
function chosenOf(members: readonly ImageView[]): ImageView | undefined {
  const chosen = members.filter(({ toppedAt }) => toppedAt !== null);
  return chosen.toSorted((one, other) => ((one.toppedAt ?? "") < (other.toppedAt ?? "") ? 1 : -1))[0];
}

/** Chooses the picture in the viewer to show its stack, or leaves that to the newest again, with undo. */
export function useChooseTop(members: readonly ImageView[], image: ImageView) {
  const t = useTranslations("viewer");
  const queries = useQueryClient();
  const change = useChangeCached();
  const showFailure = useFailureToast();
  const refresh = () => queries.invalidateQueries({ queryKey: keys.imageLists });
  const choose = async ({ id, onTop }: Choice) => {
    const { beforeId } = await api.images.top.mutate({ id, onTop });
    if (beforeId !== null) await change([beforeId], (one) => ({ ...one, toppedAt: null }));
    if (onTop) await change([id], (one) => ({ ...one, toppedAt: new Date().toISOString() }));
    return beforeId;
  };
  const { mutate, isPending } = useMutation({
    mutationFn: choose,
    onSuccess: (beforeId, { id, onTop }) =>
      toastWithUndo({
        title: t(onTop ? "topped" : "untopped"),
        undoLabel: t("undo"),
        onUndo: () =>
          void choose(beforeId === null ? { id, onTop: false } : { id: beforeId, onTop: true })
            .catch(showFailure)
            .finally(() => void refresh()),
      }),
    onError: showFailure,
    onSettled: refresh,
  });
  const chosen = chosenOf([...members, image]);
  return {
    chosenId: chosen?.id ?? null,
    toggle: () => {
      // A stack has several; what is shown of it waits for the choice before.
      if (members.length > 1 && !isPending) mutate({ id: image.id, onTop: chosen?.id !== image.id });
    },
  };
}

interface StackStripProps {
  readonly stack: ReturnType<typeof useStack>;
  readonly members: readonly ImageView[];
  readonly shownId: string;
  /** The picture that was chosen to show the stack. */
  readonly chosenId: string | null;
  readonly onShow: (id: string) => void;
  readonly onCompare: () => void;
  readonly onTop: () => void;
}

/** All pictures of the stack of the picture in the viewer. */
export function StackStrip(props: StackStripProps) {
  const { stack, members, shownId, chosenId, onShow, onCompare, onTop } = props;
  const t = useTranslations("viewer");
  const nameOf = useImageName();
  const end = useNearEnd(() => void stack.fetchNextPage(), canLoadMore(stack));
  const shown = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    shown.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [shownId]);
  return (
    <div className="flex shrink-0 items-center pe-2 sm:pe-3">
      <ol
        aria-label={t("stack")}
        className="no-scrollbar flex h-17 min-w-0 flex-1 items-center gap-1.5 overflow-x-auto px-3 [justify-content:safe_center]"
      >
        {members.map((image) => (
          <li key={image.id} className="shrink-0">
            <button
              ref={image.id === shownId ? shown : null}
              type="button"
              aria-label={image.id === chosenId ? t("onTop", { name: nameOf(image) }) : nameOf(image)}
              aria-current={image.id === shownId ? "true" : undefined}
              onClick={() => onShow(image.id)}
              className="relative block size-12 overflow-hidden rounded-control opacity-70 ring-1 ring-line transition-opacity duration-120 hover:opacity-100 aria-[current=true]:opacity-100 aria-[current=true]:ring-2 aria-[current=true]:ring-ink"
            >
              <img
                src={imageUrl(image.id, "thumbnail")}
                alt=""
                loading="lazy"
                className="size-full object-cover"
              />
              {image.id === chosenId ? (
                <BringToFront
                  aria-hidden
                  className="absolute inset-e-0.5 bottom-0.5 size-4 rounded-[4px] bg-black/65 p-0.5 text-white"
                />
              ) : null}
            </button>
          </li>
        ))}
        <li aria-hidden className="shrink-0">
          <div ref={end} className="h-12 w-px" />
        </li>
      </ol>
      <Button
        look="quiet"
        size="small"
        aria-keyshortcuts="t"
        aria-pressed={shownId === chosenId}
        className="aria-pressed:bg-hover"
        onClick={onTop}
      >
        <BringToFront aria-hidden />
        <span className="max-sm:sr-only">{t("showOnTop")}</span>
      </Button>
      <Button look="quiet" size="small" aria-keyshortcuts="c" onClick={onCompare}>
        <Columns2 aria-hidden />
        <span className="max-sm:sr-only">{t("compareStack")}</span>
      </Button>
    </div>
  );
}
