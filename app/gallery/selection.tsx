"use client";
import { Maximize2, Scissors, Sparkles, Star, Tag, Trash2, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRouter } from "next/navigation";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useSubmitBatch } from "../batches/submit-batch.ts";
import { useFailureToast } from "../client/failures.ts";
import { useCapability } from "../client/queries.ts";
import { isTyping } from "../frame/run-button.tsx";
import { ShareButton } from "../links/share.tsx";
import { AsReference, useRemoveImages, useStar } from "../pictures/actions.tsx";
import { BoardButton } from "../pictures/boards.tsx";
import { ratingOfKey, Stars, TagEditor, useRate } from "../pictures/marks.tsx";
import { Button, buttonStyle, IconButton } from "../ui/button.tsx";
import { Dialog, Menu, MenuItem } from "../ui/overlays.tsx";
import { type ListedImage, readStackIds } from "./stack.tsx";

/** What of a list is read: pictures beyond its ends are there, too, unless it ends there. */
export interface ReadPart<Image> {
  readonly images: readonly Image[];
  readonly isFromNewest: boolean;
  readonly isToOldest: boolean;
  /** What the pictures were found by; null while none are read, also after a failure. */
  readonly search: string | null;
}

interface Listed {
  readonly stackId: string;
  readonly createdAt: string;
}

export interface Chosen<Image> {
  readonly search: string | null;
  /** By the id of the stack, since another picture may come on top of one. */
  readonly images: ReadonlyMap<string, Image>;
}

/** The chosen pictures as they are now, without those that the list has no more; the same object when nothing changes. */
export function keepListed<Image extends Listed>(
  chosen: Chosen<Image>,
  { images, isFromNewest, isToOldest, search }: ReadPart<Image>,
): Chosen<Image> {
  if (chosen.images.size === 0 || search === null) return chosen;
  const [newest, oldest] = [images[0]?.createdAt, images.at(-1)?.createdAt];
  const isBeyond = ({ createdAt }: Image) =>
    chosen.search === search &&
    ((!isFromNewest && newest !== undefined && createdAt > newest) ||
      (!isToOldest && oldest !== undefined && createdAt < oldest));
  const listed = new Map(images.map((image) => [image.stackId, image]));
  const kept = new Map<string, Image>();
  for (const [stackId, image] of chosen.images) {
    const now = listed.get(stackId) ?? (isBeyond(image) ? image : undefined);
    if (now !== undefined) kept.set(stackId, now);
  }
  const isSame =
    kept.size === chosen.images.size && [...kept].every(([id, image]) => chosen.images.get(id) === image);
  return isSame && chosen.search === search ? chosen : { search, images: kept };
}

/** Ids between two items, both included, in list order; only the second id when the list no longer has the first. */
export function rangeBetween(items: readonly { readonly id: string }[], from: string, to: string): string[] {
  const start = items.findIndex((item) => item.id === from);
  const end = items.findIndex((item) => item.id === to);
  if (start === -1 || end === -1) return [to];
  return items.slice(Math.min(start, end), Math.max(start, end) + 1).map((item) => item.id);
}

export interface Selection {
  /** Of stacks, since another picture may come on top of one. */
  readonly ids: ReadonlySet<string>;
  /** The pictures on top. */
  readonly images: readonly ListedImage[];
  readonly toggle: (stackId: string, isRange: boolean) => void;
  /** These, and no others. */
  readonly choose: (images: readonly ListedImage[]) => void;
  readonly clear: () => void;
  readonly star: () => void;
  readonly remove: () => void;
}

const nothing: Chosen<ListedImage> = { search: null, images: new Map() };

function focusedStack(): string | undefined {
  return document.activeElement instanceof HTMLElement ? document.activeElement.dataset.stack : undefined;
}

/** In a dialog or a menu, whose keys are its own: Delete there would delete what is selected below. */
function isOverPage({ target }: KeyboardEvent): boolean {
  return target instanceof Element && target.closest("[role=dialog], [role=menu]") !== null;
}

/** Deletes stacks with all of their pictures, read first where the list has only the one on top. */
function useRemoveStacks(): (tops: readonly ListedImage[]) => void {
  const removeImages = useRemoveImages();
  const showFailure = useFailureToast();
  return useCallback(
    (tops) => {
      const isStack = ({ stackSize }: ListedImage) => (stackSize ?? 1) > 1;
      const single = tops.filter((image) => !isStack(image)).map(({ id }) => id);
      const stacks = tops.filter(isStack).map(({ stackId }) => stackId);
      if (stacks.length === 0) removeImages(single);
      else readStackIds(stacks).then((ids) => removeImages([...single, ...ids]), showFailure);
    },
    [removeImages, showFailure],
  );
}

const byNewest = (a: ListedImage, b: ListedImage) => (a.createdAt < b.createdAt ? 1 : -1);

/** The chosen pictures, and the actions on them. The shortcuts work only while the viewer is closed. */
export function useSelection(part: ReadPart<ListedImage>, isInFront: boolean): Selection {
  const { images } = part;
  const stacks = useMemo(() => images.map((image) => ({ id: image.stackId, image })), [images]);
  const [chosen, setChosen] = useState(nothing);
  const kept = keepListed(chosen, part);
  // A picture that a filter hid is not chosen again when the filter is removed.
  if (kept !== chosen) setChosen(kept);
  const anchor = useRef<string | null>(null);
  const star = useStar();
  const { mutate: rate } = useRate();
  const removeStacks = useRemoveStacks();
  const { search } = part;

  const choose = useCallback(
    (change: (before: ReadonlyMap<string, ListedImage>) => Iterable<readonly [string, ListedImage]>) =>
      setChosen((before) => ({ search, images: new Map(change(before.images)) })),
    [search],
  );
  const clear = useCallback(() => setChosen(nothing), []);
  const toggle = useCallback(
    (id: string, isRange: boolean) => {
      const range = isRange && anchor.current !== null ? rangeBetween(stacks, anchor.current, id) : [id];
      anchor.current = id;
      const inRange = new Set(range);
      const changed = stacks.filter((stack) => inRange.has(stack.id));
      choose((before) => {
        const after = new Map(before);
        const adds = isRange || !before.has(id);
        for (const { id: one, image } of changed) {
          if (adds) after.set(one, image);
          else after.delete(one);
        }
        return after;
      });
    },
    [choose, stacks],
  );
  const selection = useMemo<Selection>(() => {
    const chosenImages = [...kept.images.values()].toSorted(byNewest);
    return {
      ids: new Set(kept.images.keys()),
      images: chosenImages,
      toggle,
      choose: (images) => choose(() => images.map((image) => [image.stackId, image] as const)),
      clear,
      star: () =>
        star.mutate({
          ids: chosenImages.map((image) => image.id),
          starred: chosenImages.some((image) => !image.starred),
        }),
      remove: () => {
        removeStacks(chosenImages);
        clear();
      },
    };
  }, [choose, clear, kept, removeStacks, star, toggle]);

  useEffect(() => {
    if (!isInFront) return undefined;
    const keys: Record<string, () => void> = {
      Escape: selection.clear,
      Delete: () => {
        if (selection.ids.size > 0) selection.remove();
        else removeStacks(images.filter(({ stackId }) => stackId === focusedStack()));
      },
      x: () => {
        const stackId = focusedStack();
        if (stackId !== undefined) toggle(stackId, false);
      },
      "Control+a": () => choose(() => stacks.map(({ id, image }) => [id, image] as const)),
    };
    const rateShown = (rating: number) => {
      const focused = images.filter(({ stackId }) => stackId === focusedStack());
      const rated = selection.images.length > 0 ? selection.images : focused;
      if (rated.length > 0) rate({ images: rated, rating });
    };
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.altKey || isOverPage(event)) return;
      const rating = ratingOfKey(event.key);
      if (rating !== null) rateShown(rating);
      const act = keys[`${event.ctrlKey || event.metaKey ? "Control+" : ""}${event.key}`];
      if (act === undefined) return;
      if (event.key === "a") event.preventDefault();
      act();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [choose, images, isInFront, rate, removeStacks, selection, stacks, toggle]);
  return selection;
}

/** One act on every chosen picture, as one batch. */
function ProcessAll({ selection }: { readonly selection: Selection }) {
  const t = useTranslations("gallery");
  const pictures = useTranslations("pictures");
  const kinds = useTranslations("jobs.kinds");
  const router = useRouter();
  const upscale = useCapability("upscale");
  const cutOut = useCapability("remove_background");
  const submit = useSubmitBatch(({ id }) => {
    selection.clear();
    router.push(`/batches/${id}`);
  });
  const order = (kind: "upscale" | "remove_background") => {
    const jobs = selection.images.map(({ id }) => ({ kind, inputs: { image: id } }));
    submit.mutate({ input: { title: t("batchOf", { kind: kinds(kind), count: jobs.length }), jobs } });
  };
  return (
    <Menu
      side="top"
      trigger={
        <button type="button" disabled={submit.isPending} className={buttonStyle("quiet", "small")}>
          <Sparkles aria-hidden />
          <span className="max-sm:sr-only">{pictures("process")}</span>
        </button>
      }
    >
      <MenuItem disabled={upscale?.available !== true} onSelect={() => order("upscale")}>
        <Maximize2 aria-hidden />
        {pictures("upscale")}
      </MenuItem>
      <MenuItem disabled={cutOut?.available !== true} onSelect={() => order("remove_background")}>
        <Scissors aria-hidden />
        {pictures("cutOut")}
      </MenuItem>
      <AsReference imageIds={selection.images.map(({ id }) => id)} />
    </Menu>
  );
}

function MarkAll({ selection }: { readonly selection: Selection }) {
  const t = useTranslations("gallery");
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button look="quiet" size="small" onClick={() => setOpen(true)}>
        <Tag aria-hidden />
        <span className="max-sm:sr-only">{t("markSelected")}</span>
      </Button>
      <Dialog open={isOpen} onOpenChange={setOpen} title={t("markTitle", { count: selection.images.length })}>
        <div className="flex flex-col gap-4">
          <Stars images={selection.images} />
          <TagEditor images={selection.images} />
        </div>
      </Dialog>
    </>
  );
}

export function SelectionBar({ selection }: { readonly selection: Selection }) {
  const t = useTranslations("gallery");
  const count = selection.ids.size;
  if (count === 0) return null;
  const pictures = selection.images.reduce((sum, { stackSize }) => sum + (stackSize ?? 1), 0);
  const allStarred = selection.images.every((image) => image.starred);
  return (
    <div
      role="toolbar"
      data-selection-bar
      aria-label={t("selection")}
      className="stage fixed bottom-[calc(var(--tabs)+12px)] left-1/2 z-40 flex h-12 max-w-[calc(100vw-16px)] -translate-x-1/2 items-center gap-1 rounded-full bg-raised! pr-2 pl-5 whitespace-nowrap shadow-float max-sm:gap-0 max-sm:pr-1 max-sm:pl-4 wide:bottom-5"
    >
      <p role="status" className="tabular mr-3 text-xs font-medium whitespace-nowrap max-sm:mr-1">
        {/* On a phone the number alone: words of some languages leave no room for the buttons. */}
        <span aria-hidden data-count={count} className="before:content-[attr(data-count)] sm:hidden" />
        <span className="max-sm:sr-only">
          {t("selected", { count })}
          {pictures === count ? null : `, ${t("selectedPictures", { count: pictures })}`}
        </span>
      </p>
      <ProcessAll selection={selection} />
      <ShareButton what={{ imageIds: selection.images.map(({ id }) => id) }} look="quiet" />
      <Button look="quiet" size="small" onClick={selection.star}>
        <Star aria-hidden />
        <span className="max-sm:sr-only">{t(allStarred ? "unstarSelected" : "starSelected")}</span>
      </Button>
      <BoardButton imageIds={selection.images.map(({ id }) => id)} look="quiet" />
      <MarkAll selection={selection} />
      <Button look="quiet" size="small" onClick={selection.remove}>
        <Trash2 aria-hidden />
        <span className="max-sm:sr-only">
          {pictures === count ? t("removeSelected") : t("removeStacks", { count: pictures })}
        </span>
      </Button>
      <IconButton label={t("clearSelection")} side="top" onClick={selection.clear}>
        <X aria-hidden />
      </IconButton>
    </div>
  );
}
