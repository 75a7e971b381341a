"use client";
import { Check, Star } from "lucide-react";
import { useTranslations } from "next-intl";
import { type DragEvent, memo, type MouseEvent, ViewTransition } from "react";
import { downloadUrl } from "../client/urls.ts";
import { AiBadge, Picture, useImageName } from "../pictures/picture.tsx";
import { RatingBadge } from "../pictures/rating.tsx";
import { cx } from "../ui/button.tsx";
import { later } from "../ui/later.tsx";
import { type ListedImage, StackBadge, tileKey } from "./stack.tsx";

/** What a picture is for other windows and programs: its address, and for Chromium the file itself. */
function carry(event: DragEvent, { id, mime }: ListedImage, name: string): void {
  const url = new URL(downloadUrl(id), window.location.href).href;
  const file = `${name.replaceAll(/[^\p{L}\p{N} .-]/gu, " ").trim() || id}.${mime.replace("image/", "").replace("jpeg", "jpg")}`;
  event.dataTransfer.effectAllowed = "copy";
  event.dataTransfer.setData("DownloadURL", `${mime}:${file}:${url}`);
  event.dataTransfer.setData("text/uri-list", url);
  event.dataTransfer.setData("text/plain", url);
}

const TrashBadge = later(async () => (await import("./trash.tsx")).TrashBadge);

/** The note of the trash, which is of the same code, tells of it. */
const untold = () => undefined;

function TrashMark({ until }: { readonly until: string | null }) {
  return until === null ? null : <TrashBadge isWanted onFailure={untold} props={{ until }} />;
}

interface Props {
  readonly image: ListedImage;
  readonly widthPx: number;
  /** One of the newest: the server's HTML may have shown it, and then it is not waited for again. */
  readonly isFirst: boolean;
  readonly isSelected: boolean;
  readonly isSelecting: boolean;
  /** The viewer shows this picture now. */
  readonly isOpen: boolean;
  /** With its `tileKey`. */
  readonly onToggle: (key: string, isRange: boolean) => void;
  readonly onOpen: (id: string) => void;
}

/** One picture of the grid: a click opens it; its checkbox, a click with Shift, or any click while some are selected, selects it. */
export const Tile = memo(function Tile(props: Props) {
  const { image, widthPx, isFirst, isSelected, isSelecting, isOpen, onToggle, onOpen } = props;
  const t = useTranslations("gallery");
  const size = image.stackSize ?? 1;
  const ownName = useImageName()(image);
  const name = size > 1 ? t("stackName", { name: ownName, count: size }) : ownName;
  const click = (event: MouseEvent) => {
    // Enter has no count of clicks: it opens, and `x` selects.
    const isSelection = isSelecting && event.detail > 0;
    if (isSelection || event.shiftKey || event.ctrlKey || event.metaKey)
      onToggle(tileKey(image), event.shiftKey);
    else onOpen(image.id);
  };
  const picture = (
    <Picture
      imageId={image.id}
      variant="thumbnail"
      thumbhash={image.thumbhash}
      alt=""
      atOnce={isFirst}
      className="size-full"
    />
  );
  return (
    <div className="group relative h-full shrink-0 bg-well" style={{ width: widthPx }}>
      <button
        type="button"
        data-tile={image.id}
        data-stack={tileKey(image)}
        aria-label={name}
        onClick={click}
        // The file of a picture in the trash is not given out.
        draggable={image.trashedUntil === null}
        onDragStart={(event) => carry(event, image, ownName)}
        className={cx(
          "block size-full transition-[padding] duration-120 focus-visible:-outline-offset-2",
          isSelected && "p-2.5 ring-2 ring-accent ring-inset",
        )}
      >
        {isOpen ? (
          picture
        ) : (
          <ViewTransition name={`picture-${image.id}`} share="picture" default="none">
            {picture}
          </ViewTransition>
        )}
      </button>
      <button
        type="button"
        role="checkbox"
        aria-checked={isSelected}
        aria-label={t("select", { name })}
        onClick={(event) => onToggle(tileKey(image), event.shiftKey)}
        className={cx(
          "touch absolute top-1 inset-s-1 flex size-8 items-center justify-center transition-opacity duration-120",
          isSelected || isSelecting
            ? "opacity-100"
            : "opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 focus-visible:opacity-100 pointer-coarse:opacity-100",
        )}
      >
        <span
          className={cx(
            "flex size-5 items-center justify-center rounded-full border-[1.5px] border-white shadow-[0_0_0_1px_rgb(0_0_0/25%)]",
            isSelected ? "bg-accent text-on-accent" : "bg-black/25 [&>svg]:invisible",
          )}
        >
          <Check className="size-3.5" strokeWidth={3} aria-hidden />
        </span>
      </button>
      <TrashMark until={image.trashedUntil} />
      <RatingBadge rating={image.rating} />
      {size > 1 ? <StackBadge size={size} /> : null}
      <span
        className={cx(
          "pointer-events-none absolute flex items-center gap-1.5",
          isSelected ? "inset-e-4 bottom-4" : "inset-e-1.5 bottom-1.5",
        )}
      >
        {image.starred ? (
          <Star
            aria-label={t("isStarred")}
            className="size-4 fill-white text-white drop-shadow-[0_0_2px_rgb(0_0_0/70%)]"
          />
        ) : null}
        {image.isAi ? <AiBadge /> : null}
      </span>
    </div>
  );
});
