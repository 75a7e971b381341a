"use client";
import {
  CalendarClock,
  Columns2,
  Download,
  Layers,
  Maximize2,
  Scissors,
  Sparkles,
  Star,
  Tag,
  Trash2,
  X,
} from "lucide-react";
import { useTranslations } from "next-intl";
import { useRouter } from "next/navigation";
import { useEffect, useEffectEvent, useState } from "react";
import { draftKeys, writeDraft } from "../client/leaving.ts";
import { useSubmitBatch } from "../client/submit/batch.ts";
import { useCapability } from "../client/queries.ts";
import { mostCompared } from "../compare/address.ts";
import { useOpenCompare } from "../compare/opening.ts";
import { isTyping } from "../parts/run-button.tsx";
import { ShareButton } from "../links/share.tsx";
import { AsReference, AskAbout } from "../pictures/quick-actions.tsx";
import { BoardButton } from "../pictures/boards.tsx";
import { DownloadMenu } from "../pictures/download-menu.tsx";
import { Stars } from "../pictures/stars.tsx";
import { CopyItem } from "../pictures/copy.tsx";
import { TurnItems, useTurn } from "../pictures/turn.tsx";
import { TagEditor } from "../pictures/tag-editor.tsx";
import { Button, buttonStyle, IconButton } from "../ui/button.tsx";
import { isCombined, keyOnce } from "../ui/key-press.ts";
import { later } from "../ui/later.tsx";
import { Dialog, Menu, MenuItem } from "../ui/overlays.tsx";
import { useFailureToast } from "../ui/failures.ts";
import { toastFailure } from "../ui/toasts.tsx";
import { isOverPage, type Selection } from "./selection.tsx";
import { readStackStart } from "./stack.tsx";

const DateDialog = later(async () => (await import("../pictures/date-dialog.tsx")).DateDialog);

function DateAll({ images, onClose }: Pick<Selection, "images"> & { readonly onClose: () => void }) {
  const showFailure = useFailureToast();
  const onFailure = (error: unknown) => {
    onClose();
    showFailure(error);
  };
  return <DateDialog isWanted onFailure={onFailure} props={{ images, open: true, onOpenChange: onClose }} />;
}

interface ProcessAllProps {
  readonly selection: Selection;
  readonly onDate: () => void;
}

/** One act on every chosen picture, as one batch. */
function ProcessAll({ selection, onDate }: ProcessAllProps) {
  const t = useTranslations("gallery");
  const pictures = useTranslations("pictures");
  const kinds = useTranslations("jobs.kinds");
  const router = useRouter();
  const upscale = useCapability("upscale");
  const cutOut = useCapability("remove_background");
  const turn = useTurn();
  const submit = useSubmitBatch();
  const order = (kind: "upscale" | "remove_background") => {
    const jobs = selection.images.map(({ id }) => ({ kind, inputs: { image: id } }));
    const input = { title: t("batchOf", { kind: kinds(kind), count: jobs.length }), jobs };
    const open = ({ id }: { readonly id: string }) => {
      selection.clear();
      router.push(`/batches/${id}`);
    };
    submit.mutate({ input }, { onSuccess: open });
  };
  return (
    <Menu
      side="top"
      trigger={
        <button type="button" disabled={submit.isPending} className={buttonStyle("quiet", "small")}>
          <Sparkles aria-hidden />
          <span>{pictures("process")}</span>
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
      <CopyItem imageId={selection.images.length === 1 ? (selection.images[0]?.id ?? null) : null} />
      <TurnItems
        onTurn={(turns) =>
          turn(
            selection.images.map(({ id }) => id),
            turns,
          )
        }
      />
      <MenuItem
        onSelect={() => {
          writeDraft(draftKeys.several, selection.images.map(({ id }) => id).join(","));
          router.push("/edit");
        }}
      >
        <Layers aria-hidden />
        {t("editAll")}
      </MenuItem>
      <MenuItem onSelect={onDate}>
        <CalendarClock aria-hidden />
        {pictures("date.change")}
      </MenuItem>
      <AsReference imageIds={selection.images.map(({ id }) => id)} />
      <AskAbout imageIds={selection.images.map(({ id }) => id)} />
    </Menu>
  );
}

function DownloadAll({ images }: Pick<Selection, "images">) {
  const t = useTranslations("viewer");
  return (
    <DownloadMenu
      imageIds={images.map(({ id }) => id)}
      side="top"
      trigger={
        <Button look="quiet" size="small">
          <Download aria-hidden />
          <span>{t("download")}</span>
        </Button>
      }
    />
  );
}

/** Rating and tags of every chosen picture. */
function MarkAll({ selection }: { readonly selection: Selection }) {
  const t = useTranslations("gallery");
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button look="quiet" size="small" onClick={() => setOpen(true)}>
        <Tag aria-hidden />
        <span>{t("markSelected")}</span>
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

/** Whether it is several pictures that fit beside one another, or one stack, whose newest do. */
function canCompare({ images }: Selection): boolean {
  const [first] = images;
  const many = images.length === 1 ? (first?.stackSize ?? 1) : images.length;
  return many > 1 && images.length <= mostCompared;
}

/** Compares what is selected, by the button or by C. */
function CompareButton({ selection }: { readonly selection: Selection }) {
  const t = useTranslations("gallery");
  const open = useOpenCompare();
  const showFailure = useFailureToast();
  const can = canCompare(selection);
  const compare = useEffectEvent(() => {
    const { images } = selection;
    const [first] = images;
    const openAll = (ids: readonly string[]) => {
      selection.leave();
      open(ids);
    };
    if (!can) toastFailure(t("compareHowMany", { most: mostCompared }));
    else if (images.length > 1 || first === undefined) openAll(images.map(({ id }) => id));
    else readStackStart(first.stackId, mostCompared).then(openAll, showFailure);
  });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || isCombined(event) || isOverPage(event)) return;
      if (keyOnce(event) === "c") compare();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  if (!can) return null;
  return (
    <Button look="quiet" size="small" aria-keyshortcuts="c" onClick={() => compare()}>
      <Columns2 aria-hidden />
      <span>{t("compare")}</span>
    </Button>
  );
}

/** What can be done with all that is selected. */
export function SelectionBar({ selection }: { readonly selection: Selection }) {
  const t = useTranslations("gallery");
  const [isDating, setDating] = useState(false);
  const count = selection.ids.size;
  const pictures = selection.images.reduce((sum, { stackSize }) => sum + (stackSize ?? 1), 0);
  const allStarred = selection.images.every((image) => image.starred);
  return (
    <div
      role="toolbar"
      data-selection-bar
      aria-label={t("selection")}
      className="stage fixed bottom-[calc(var(--tabs)+12px)] left-1/2 z-40 flex h-12 max-w-[calc(100vw-16px)] -translate-x-1/2 items-center gap-1 rounded-full bg-raised! pe-2 ps-5 whitespace-nowrap shadow-float max-sm:gap-0 max-sm:pe-1 max-sm:ps-4 max-[360px]:ps-1 max-[360px]:[&>p]:me-0 max-[380px]:[&_button]:px-1.5 wide:bottom-5 max-[1280px]:[&_button>span]:sr-only"
    >
      <p role="status" className="tabular me-3 text-xs font-medium whitespace-nowrap max-sm:me-1">
        {/* On a phone the number alone, as the buttons have no words below a wide screen: those of some languages leave no room. */}
        <span aria-hidden data-count={count} className="before:content-[attr(data-count)] sm:hidden" />
        <span className="max-sm:sr-only">
          {t("selected", { count })}
          {pictures === count ? null : `, ${t("countPictures", { count: pictures })}`}
        </span>
      </p>
      <CompareButton selection={selection} />
      <ProcessAll selection={selection} onDate={() => setDating(true)} />
      {isDating ? <DateAll images={selection.images} onClose={() => setDating(false)} /> : null}
      <ShareButton what={{ imageIds: selection.images.map(({ id }) => id) }} look="quiet" />
      <Button look="quiet" size="small" onClick={selection.star}>
        <Star aria-hidden />
        <span>{t(allStarred ? "unstarSelected" : "starSelected")}</span>
      </Button>
      <BoardButton imageIds={selection.images.map(({ id }) => id)} look="quiet" />
      <MarkAll selection={selection} />
      <DownloadAll images={selection.images} />
      <Button look="quiet" size="small" onClick={selection.remove}>
        <Trash2 aria-hidden />
        <span>{pictures === count ? t("removeSelected") : t("removeStacks", { count: pictures })}</span>
      </Button>
      <IconButton label={t("clearSelection")} side="top" onClick={selection.clear}>
        <X aria-hidden />
      </IconButton>
    </div>
  );
}
