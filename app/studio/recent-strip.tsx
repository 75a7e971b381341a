"use client";
import { useQuery } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { api } from "../client/api.ts";
import { keys } from "../data/keys.ts";
import { Picture } from "../pictures/picture.tsx";
import type { Slot } from "./studio-store.ts";

interface Props {
  readonly slot: Slot;
  readonly chosenId: string | null;
  readonly onChoose: (imageId: string) => void;
}

const shown = 12;

/** The wardrobe: persons or garments used before, one click away. */
export function RecentStrip({ slot, chosenId, onChoose }: Props) {
  const t = useTranslations("studio");
  const { data } = useQuery({
    queryKey: keys.recentInputs(slot),
    queryFn: () => api.jobs.recentInputs.query({ role: slot, limit: shown }),
  });
  if (data === undefined || data.items.length === 0) return null;
  return (
    <div className="mt-1 flex flex-col gap-2">
      <p aria-hidden className="text-xs text-quiet">
        {t(`recent.${slot}`)}
      </p>
      <ul aria-label={t(`recent.${slot}`)} className="no-scrollbar -m-1 flex gap-1.5 overflow-x-auto p-1">
        {data.items.map((image, index) => (
          <li key={image.id} className="shrink-0">
            <button
              type="button"
              aria-label={t(`useRecent.${slot}`, { number: index + 1 })}
              aria-pressed={image.id === chosenId}
              onClick={() => onChoose(image.id)}
              className="block size-12 overflow-hidden rounded-control ring-1 ring-line transition duration-150 hover:ring-2 hover:ring-ink aria-pressed:ring-2 aria-pressed:ring-accent"
            >
              <Picture
                imageId={image.id}
                variant="thumbnail"
                thumbhash={image.thumbhash}
                alt=""
                className="size-full"
              />
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
