"use client";
import { ImageOff, ImagePlus, Images, Upload, X } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useSearchParams } from "next/navigation";
import { useCallback, useEffect, useState } from "react";
import type { Turn } from "@atelier/server/assistant";
import { mostGiven } from "../client/references.ts";
import { useImage, useIsGone } from "../client/queries.ts";
import { FromGallery } from "../pictures/from-gallery.tsx";
import { usePictureUploads } from "../pictures/picture-input.tsx";
import { Picture, useImageName } from "../pictures/picture.tsx";
import { cx, IconButton, Spinner } from "../ui/button.tsx";
import { Menu, MenuItem } from "../ui/overlays.tsx";
import { toastFailure } from "../ui/toasts.tsx";
import { useFilePicker, useFileTarget } from "../uploads/drop.tsx";
import { useAssistantStatus } from "./queries.ts";

/** The pictures of the question that is being written: chosen, uploaded, pasted, or dropped on the page. */
export function useGivenPictures() {
  const t = useTranslations("assistant.given");
  const [imageIds, setImageIds] = useState<readonly string[]>([]);
  const left = mostGiven - imageIds.length;
  const add = useCallback(
    (more: readonly string[]) => {
      const all = [...new Set([...imageIds, ...more])];
      if (all.length > mostGiven) toastFailure(t("full", { most: mostGiven }));
      setImageIds((before) => [...new Set([...before, ...more])].slice(0, mostGiven));
    },
    [imageIds, t],
  );
  const onStored = useCallback(
    (id: string) => setImageIds((before) => [...new Set([...before, id])].slice(0, mostGiven)),
    [],
  );
  const { isUploading, upload } = usePictureUploads({ most: left, onStored });
  const take = (files: readonly File[]) => {
    if (files.length > left) toastFailure(t("full", { most: mostGiven }));
    upload(files);
  };
  const remove = (id: string) => setImageIds((before) => before.filter((one) => one !== id));
  return { imageIds, setImageIds, add, take, remove, isUploading };
}

export type Given = ReturnType<typeof useGivenPictures>;

/** Takes the pictures that the address names (`?about=<image id>,<image id>`). */
export function useAbout(setImageIds: Given["setImageIds"]): void {
  const named = useSearchParams().get("about");
  useEffect(() => {
    if (named === null) return;
    window.history.replaceState(null, "", window.location.pathname);
    setImageIds(
      named
        .split(",")
        .filter((id) => /^[0-9a-f-]{36}$/.test(id))
        .slice(0, mostGiven),
    );
  }, [named, setImageIds]);
}

/** The button that adds pictures, with what is dropped or pasted while it is shown. */
export function AddPictures({ given }: { readonly given: Given }) {
  const t = useTranslations("assistant.given");
  const picker = useTranslations("picker");
  const { imageIds, add, take, isUploading } = given;
  useFileTarget(take);
  const pick = useFilePicker(take);
  const left = mostGiven - imageIds.length;
  return (
    <FromGallery leftOut={imageIds} most={Math.max(1, left)} onChoose={add}>
      {(open) => (
        <Menu
          side="top"
          trigger={
            <button
              type="button"
              aria-label={t("add")}
              disabled={left === 0}
              className="inline-flex size-9 shrink-0 items-center justify-center rounded-control text-quiet transition-colors duration-120 hover:bg-hover hover:text-ink disabled:opacity-40 pointer-coarse:size-11 [&_svg]:size-[18px]"
            >
              {isUploading ? <Spinner /> : <ImagePlus aria-hidden />}
            </button>
          }
        >
          <MenuItem onSelect={() => pick({ multiple: true })}>
            <Upload aria-hidden />
            {t("upload")}
          </MenuItem>
          <MenuItem onSelect={open}>
            <Images aria-hidden />
            {picker("open")}
          </MenuItem>
        </Menu>
      )}
    </FromGallery>
  );
}

interface ChipProps {
  readonly imageId: string;
  readonly onRemove: () => void;
}

function Chip({ imageId, onRemove }: ChipProps) {
  const t = useTranslations("assistant.given");
  const nameOf = useImageName();
  const { data: image } = useImage(imageId);
  const isGone = useIsGone(imageId);
  const name = image === undefined ? t("picture") : nameOf(image);
  return (
    <li className="relative">
      <span
        title={isGone ? t("gone") : name}
        className="flex size-16 items-center justify-center overflow-hidden rounded-control bg-well text-quiet ring-1 ring-line"
      >
        {isGone ? (
          <ImageOff className="size-5" aria-label={t("gone")} />
        ) : (
          <Picture
            imageId={imageId}
            variant="thumbnail"
            thumbhash={image?.thumbhash}
            alt={name}
            className="size-full"
          />
        )}
      </span>
      <IconButton
        label={t("remove", { name })}
        onClick={onRemove}
        className="absolute! -inset-e-2 -top-2 size-6! rounded-full! bg-ink text-paper! shadow-float after:absolute after:-inset-2.5 hover:bg-ink! [&_svg]:size-3.5!"
      >
        <X aria-hidden />
      </IconButton>
    </li>
  );
}

/** The pictures that go with the question, each with a way to take it back. */
export function GivenChips({ given }: { readonly given: Given }) {
  const t = useTranslations("assistant.given");
  if (given.imageIds.length === 0) return null;
  return (
    <ul aria-label={t("chosen")} className="flex flex-wrap gap-3 px-2 pt-2 pb-1">
      {given.imageIds.map((id) => (
        <Chip key={id} imageId={id} onRemove={() => given.remove(id)} />
      ))}
    </ul>
  );
}

const vendors: Readonly<Record<string, string>> = {
  anthropic: "Anthropic",
  google: "Google",
  openai: "OpenAI",
};

/** Says before pictures are sent who sees them. */
export function useWhoSees(): string | null {
  const t = useTranslations("assistant.given");
  const { data } = useAssistantStatus();
  if (data === undefined) return null;
  const to = data.picturesTo;
  if (to === null) return t("toNobody");
  return to === "own" ? t("toOwn") : t("to", { name: vendors[to] ?? to });
}

/** The pictures of a question that was asked. */
export function TurnPictures({ pictures }: { readonly pictures: Turn["pictures"] }) {
  const t = useTranslations("assistant");
  if (pictures.length === 0) return null;
  const box = "flex size-20 items-center justify-center overflow-hidden rounded-card bg-well sm:size-24";
  return (
    <ul aria-label={t("given.chosen")} className="-mb-2 flex max-w-full flex-wrap justify-end gap-2 self-end">
      {pictures.map(({ id, state, thumbhash }) => (
        <li key={id}>
          {state === "there" ? (
            <Link href={`/gallery?image=${id}`} aria-label={t("openPicture")} className={cx(box, "block!")}>
              <Picture
                imageId={id}
                variant="thumbnail"
                thumbhash={thumbhash ?? undefined}
                alt=""
                className="size-full"
              />
            </Link>
          ) : (
            <span className={cx(box, "flex-col gap-1 px-1 text-center text-xs text-quiet")}>
              <ImageOff className="size-5" aria-hidden />
              {t(`given.${state}`)}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
