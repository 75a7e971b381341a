"use client";
import { Columns2, Download, Images, Info, Pencil, Repeat2, Trash2, X } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import type { ImageView } from "@atelier/server/images";
import { useCapabilities } from "../../client/queries.ts";
import { saveFile } from "../../client/save.ts";
import { downloadUrl } from "../../client/urls.ts";
import { ShareButton } from "../../links/share.tsx";
import { useRemoveImages } from "../../pictures/actions.tsx";
import { StarButton, QuickActions } from "../../pictures/quick-actions.tsx";
import { BoardButton } from "../../pictures/boards.tsx";
import { useImageName } from "../../pictures/picture.tsx";
import { similarUrl } from "../near.tsx";
import { buttonStyle, IconButton } from "../../ui/button.tsx";

interface Props {
  readonly image: ImageView;
  /** Number of this picture (from 1) among the pictures of the grid; null when the grid does not show it. */
  readonly position: { readonly number: number; readonly count: number } | null;
  /** URL for a remix; null when the kind has none. */
  readonly remix: string | null;
  readonly canCompare: boolean;
  readonly isComparing: boolean;
  readonly isInfoOpen: boolean;
  readonly onCompare: () => void;
  readonly onInfo: () => void;
  readonly onClose: () => void;
  readonly onRemoved: () => void;
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
  } = props;
  const t = useTranslations("viewer");
  const name = useImageName(true)(image);
  const remove = useRemoveImages();
  const hasMeaning = useCapabilities()?.hasMeaning;
  return (
    <div
      role="toolbar"
      aria-label={t("toolbar")}
      className="flex min-h-14 shrink-0 flex-wrap items-center gap-1 px-2 pb-1 sm:px-3 sm:pb-0"
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
        <QuickActions image={image} />
        <Link href={`/edit/${image.id}`} className={buttonStyle("quiet", "small")}>
          <Pencil aria-hidden />
          {t("edit")}
        </Link>
        {remix === null ? null : (
          <Link href={remix} className={buttonStyle("quiet", "small")}>
            <Repeat2 aria-hidden />
            {t("remix")}
          </Link>
        )}
      </div>
      <span aria-hidden className="mx-1 h-5 w-px shrink-0 bg-line max-sm:hidden" />
      {canCompare ? (
        <IconButton label={t("compare")} pressed={isComparing} onClick={onCompare}>
          <Columns2 aria-hidden />
        </IconButton>
      ) : null}
      <BoardButton imageIds={[image.id]} look="icon" />
      <StarButton imageId={image.id} />
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
      <IconButton label={t("download")} onClick={() => saveFile(downloadUrl(image.id))}>
        <Download aria-hidden />
      </IconButton>
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
      <IconButton label={t("info")} pressed={isInfoOpen} onClick={onInfo}>
        <Info aria-hidden />
      </IconButton>
    </div>
  );
}
