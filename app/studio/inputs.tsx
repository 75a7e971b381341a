"use client";
import { useQuery } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useCallback, useEffect, useState } from "react";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys, useIsGone } from "../client/queries.ts";
import { PictureStrip } from "../pictures/picture-strip.tsx";
import { toastFailure } from "../ui/toasts.tsx";
import { addUpload, dropUpload, type Upload, useUpload } from "../uploads/store.ts";
import { isNotWorn, studioCategory, useItemName, useWardrobe, type Category } from "../client/wardrobe.ts";
import { type Slot, studio, useStudio } from "./state.ts";

interface Holding {
  /** Image id of the slot's stored picture. */
  readonly storedId: string | null;
  /** The stored picture was deleted. */
  readonly isGone: boolean;
  readonly upload: Pick<Upload, "state"> | undefined;
}

interface Reading {
  /** The picture of the slot; null while an upload replaces it. */
  readonly imageId: string | null;
  /** Whether a new picture would replace none. */
  readonly isFree: boolean;
}

/** The content of a slot: a running upload counts as its picture; a failed upload leaves the slot free. */
export function resolveSlot({ storedId, isGone, upload }: Holding): Reading {
  if (upload !== undefined) return { imageId: null, isFree: upload.state === "failed" };
  const imageId = isGone ? null : storedId;
  return { imageId, isFree: imageId === null };
}

interface InputStripProps {
  readonly slot: Slot;
  readonly chosenId: string | null;
  /** The category is that of an item of the wardrobe. */
  readonly onChoose: (imageId: string, category?: Category) => void;
}

const shown = 12;

/** Persons or garments that were used before, as thumbnails to choose from. */
export function RecentStrip({ slot, chosenId, onChoose }: InputStripProps) {
  const t = useTranslations("studio");
  const { data } = useQuery({
    queryKey: keys.recentInputs(slot),
    queryFn: () => api.jobs.recentInputs.query({ role: slot, limit: shown }),
  });
  const pictures = (data?.items ?? []).map(({ id, thumbhash }, index) => ({
    id,
    thumbhash,
    label: t(`useRecent.${slot}`, { number: index + 1 }),
  }));
  return (
    <PictureStrip
      title={t(`recent.${slot}`)}
      pictures={pictures}
      chosenId={chosenId}
      onChoose={(id) => onChoose(id)}
    />
  );
}

/** Persons or garments of the wardrobe, as thumbnails to choose from. */
export function WardrobeStrip({ slot, chosenId, onChoose }: InputStripProps) {
  const t = useTranslations("studio");
  const nameOf = useItemName();
  const kept = (useWardrobe().data?.items ?? []).filter(
    ({ what, isBeingCutOut }) => what === slot && !isBeingCutOut,
  );
  const items = kept.filter((item) => !isNotWorn(item));
  const choose = (imageId: string) => {
    const item = items.find((one) => one.imageId === imageId);
    onChoose(imageId, slot === "garment" && item !== undefined ? studioCategory(item) : undefined);
  };
  const pictures = items.map((item) => ({
    id: item.imageId,
    thumbhash: item.thumbhash,
    label: t("useWardrobe", { name: nameOf(item) }),
  }));
  return (
    <>
      <PictureStrip title={t(`wardrobe.${slot}`)} pictures={pictures} chosenId={chosenId} onChoose={choose} />
      {items.length < kept.length ? <p className="mt-1 text-xs text-quiet">{t("notWorn")}</p> : null}
    </>
  );
}

interface Sample {
  readonly key: "astronaut" | "tee" | "dress" | "hoodie" | "longSleeve";
  readonly file: string;
}

/** Sample pictures under public/samples. */
const samples: Record<Slot, readonly Sample[]> = {
  person: [{ key: "astronaut", file: "astronaut.png" }],
  garment: [
    { key: "tee", file: "garment_tee.jpg" },
    { key: "longSleeve", file: "garment_long_sleeve.jpg" },
    { key: "hoodie", file: "garment_hoodie.jpg" },
    { key: "dress", file: "garment_dress.jpg" },
  ],
};

/** As it is shown: 56 px wide, at three pixels to one. */
const smallOf = ({ file }: Sample) => `/samples/small/${file.replace(/\.\w+$/, ".webp")}`;

/** The largest sample has less than a megabyte. */
const sampleLimitMs = 30_000;

/** A sample as a file, so that it is uploaded like a user's own picture. */
export async function readSample({ file }: Pick<Sample, "file">): Promise<File> {
  const response = await fetch(`/samples/${file}`, { signal: AbortSignal.timeout(sampleLimitMs) });
  if (!response.ok) throw new Error(`${response.status}`);
  const blob = await response.blob();
  return new File([blob], file, { type: blob.type });
}

interface SampleRowProps {
  readonly slot: Slot;
  readonly onFile: (file: File) => void;
}

export function SampleRow({ slot, onFile }: SampleRowProps) {
  const t = useTranslations("studio");
  const showFailure = useFailureToast();
  const [taken, setTaken] = useState<Sample["key"] | null>(null);
  const take = (sample: Sample) => {
    setTaken(sample.key);
    void readSample(sample)
      .then(onFile, showFailure)
      .finally(() => setTaken(null));
  };
  return (
    <div className="flex w-full flex-col items-center gap-2 max-sm:mt-auto">
      <p className="text-xs text-quiet">{t("trySample")}</p>
      <ul className="flex w-full justify-center gap-2 max-sm:max-w-28 max-sm:flex-wrap">
        {samples[slot].map((sample) => (
          <li key={sample.key} className="max-w-14 min-w-0 flex-1 max-sm:min-w-11">
            <button
              type="button"
              aria-label={t("useSample", { name: t(`samples.${sample.key}`) })}
              aria-busy={taken === sample.key}
              aria-disabled={taken !== null}
              onClick={() => taken ?? take(sample)}
              className="block aspect-square w-full overflow-hidden rounded-control ring-1 ring-line transition duration-150 not-aria-disabled:hover:ring-2 not-aria-disabled:hover:ring-ink aria-busy:animate-breathe"
            >
              <img src={smallOf(sample)} alt="" className="size-full object-cover" />
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

async function readClipboard(): Promise<File | null> {
  const items = await navigator.clipboard.read();
  for (const item of items) {
    const type = item.types.find((name) => name.startsWith("image/"));
    if (type !== undefined) return new File([await item.getType(type)], "pasted.png", { type });
  }
  return null;
}

/** A paste button, for devices without a keyboard. */
export function usePasteButton(onFiles: (files: File[]) => void): () => void {
  const t = useTranslations("studio");
  return useCallback(() => {
    readClipboard().then(
      (file) => (file === null ? toastFailure(t("pasteNothing")) : onFiles([file])),
      () => toastFailure(t("pasteRefused"), t("pasteRefusedText")),
    );
  }, [onFiles, t]);
}

const fieldOf = { person: "personId", garment: "garmentId" } as const;

/** An upload, and the picture of the slot that it replaces. */
interface Replacing {
  readonly uploadId: string;
  readonly storedId: string | null;
}

/** Outlives the page, because the upload continues on other pages. */
const replacing = new Map<Slot, Replacing>();

function endUpload(slot: Slot): void {
  const running = replacing.get(slot);
  if (running !== undefined) dropUpload(running.uploadId);
  replacing.delete(slot);
}

export interface SlotState {
  /** Image id to submit; null while another picture is being uploaded. */
  readonly imageId: string | null;
  readonly isFree: boolean;
  readonly upload: Upload | undefined;
  readonly put: (file: File) => void;
  readonly choose: (imageId: string, category?: Category) => void;
  /** Cancels the upload; the slot shows the previous picture again. */
  readonly cancelUpload: () => void;
  readonly clear: () => void;
}

/** State of one of the two input pictures: stored, or being uploaded. */
export function useSlot(slot: Slot): SlotState {
  const storedId = useStudio()[fieldOf[slot]];
  const [held, setHeld] = useState<Replacing | null>(() => replacing.get(slot) ?? null);
  // A remix or an item of the wardrobe was put there meanwhile.
  const isOver = held !== null && held.storedId !== storedId;
  const upload = useUpload(isOver ? null : (held?.uploadId ?? null));
  const isGone = useIsGone(storedId);

  const cancelUpload = useCallback(() => {
    endUpload(slot);
    setHeld(null);
  }, [slot]);
  useEffect(() => {
    if (isOver) endUpload(slot);
  }, [isOver, slot]);
  const choose = useCallback(
    (id: string, category?: Category) => {
      cancelUpload();
      studio.set({ [fieldOf[slot]]: id, jobId: null, ...(category === undefined ? {} : { category }) });
    },
    [cancelUpload, slot],
  );
  const put = useCallback(
    (file: File) => {
      cancelUpload();
      const over = studio.get()[fieldOf[slot]];
      const uploadId = addUpload(file, ({ id }) => {
        if (studio.get()[fieldOf[slot]] === over) choose(id);
      });
      replacing.set(slot, { uploadId, storedId: over });
      setHeld({ uploadId, storedId: over });
    },
    [cancelUpload, choose, slot],
  );
  const clear = useCallback(() => {
    cancelUpload();
    studio.set({ [fieldOf[slot]]: null, jobId: null });
  }, [cancelUpload, slot]);
  return { ...resolveSlot({ storedId, isGone, upload }), upload, put, choose, cancelUpload, clear };
}
