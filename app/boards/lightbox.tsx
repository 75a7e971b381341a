"use client";
import { Dialog } from "@base-ui/react/dialog";
import { ChevronLeft, ChevronRight, CopyPlus, Download, ImageMinus, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { type KeyboardEvent, useRef } from "react";
import { AiBadge, Picture } from "../pictures/picture.tsx";
import { buttonStyle, IconButton } from "../ui/button.tsx";
import { isCombined } from "../ui/key-press.ts";
import { boardFileUrl } from "../client/urls.ts";
import type { BoardPicture } from "../client/boards.ts";

interface Props {
  readonly boardId: string;
  readonly pictures: readonly BoardPicture[];
  readonly shownId: string | null;
  readonly onShow: (id: string | null) => void;
  /** Null for a picture that this user cannot take off. */
  readonly onTakeOff: ((picture: BoardPicture) => void) | null;
  /** Of a picture of somebody else: into the own gallery. */
  readonly onCopy: (picture: BoardPicture) => void;
}

/** One picture of a board over the whole page; the arrow keys go on to its neighbours. */
export function Lightbox({ boardId, pictures, shownId, onShow, onTakeOff, onCopy }: Props) {
  const t = useTranslations("boards");
  const popup = useRef<HTMLDivElement>(null);
  const at = pictures.findIndex(({ id }) => id === shownId);
  const picture = pictures[at];
  const name = picture?.title || t("picture");
  const step = (by: number) => {
    const next = pictures[at + by];
    if (next !== undefined) onShow(next.id);
  };
  const press = (event: KeyboardEvent) => {
    if (isCombined(event)) return;
    if (event.key === "ArrowRight") step(1);
    if (event.key === "ArrowLeft") step(-1);
  };
  return (
    <Dialog.Root open={picture !== undefined} onOpenChange={(open) => open || onShow(null)}>
      <Dialog.Portal>
        <Dialog.Popup
          ref={popup}
          initialFocus={popup}
          finalFocus={() => document.querySelector<HTMLElement>(`[data-tile="${shownId ?? ""}"]`) ?? true}
          onKeyDown={press}
          className="stage room fixed inset-0 z-50 flex flex-col outline-none"
        >
          {picture === undefined ? null : (
            <>
              <div className="flex min-h-14 items-center gap-1 px-3">
                <div className="min-w-0 flex-1 px-1">
                  <Dialog.Title className="truncate text-sm font-medium">{name}</Dialog.Title>
                  <p className="flex items-center gap-2 text-xs opacity-80">
                    {t("by", { name: picture.ownerName })}
                    {picture.isAi ? <AiBadge /> : null}
                  </p>
                </div>
                {onTakeOff === null ? null : (
                  <IconButton label={t("takeOff")} onClick={() => onTakeOff(picture)}>
                    <ImageMinus aria-hidden />
                  </IconButton>
                )}
                {picture.isOwn ? null : (
                  <IconButton label={t("copy")} onClick={() => onCopy(picture)}>
                    <CopyPlus aria-hidden />
                  </IconButton>
                )}
                <a
                  href={`${boardFileUrl(boardId, picture.id, "original")}&download=true`}
                  aria-label={t("download")}
                  className={buttonStyle("quiet")}
                >
                  <Download aria-hidden />
                </a>
                <Dialog.Close render={<IconButton label={t("close")} />}>
                  <X aria-hidden />
                </Dialog.Close>
              </div>
              <div className="relative min-h-0 flex-1">
                <Picture
                  key={picture.id}
                  imageId={picture.id}
                  src={boardFileUrl(boardId, picture.id, "preview")}
                  variant="preview"
                  alt={picture.isAi ? t("aiPicture", { name }) : name}
                  fit="contain"
                  eager
                  className="absolute inset-0 size-full"
                />
                <span className="absolute start-2 top-1/2 -translate-y-1/2 rounded-full bg-black/55">
                  <IconButton label={t("previous")} disabled={at === 0} onClick={() => step(-1)}>
                    <ChevronLeft aria-hidden />
                  </IconButton>
                </span>
                <span className="absolute end-2 top-1/2 -translate-y-1/2 rounded-full bg-black/55">
                  <IconButton label={t("next")} disabled={at === pictures.length - 1} onClick={() => step(1)}>
                    <ChevronRight aria-hidden />
                  </IconButton>
                </span>
              </div>
            </>
          )}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
