"use client";
import { useQuery } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { parseSearch, termOf } from "@atelier/server/search-query";
import { api } from "../client/api.ts";
import { keys, useCapabilities, viewerTimezone } from "../client/queries.ts";
import { Picture, useImageName } from "../pictures/picture.tsx";
import { hasTerm, isByMeaning, readableSearch } from "../client/search-terms.ts";
import type { ListedImage } from "./stack.tsx";

/** Where the pictures are that mean the like of one. */
export const similarUrl = (imageId: string) =>
  `/gallery?search=${encodeURIComponent(termOf("similar", imageId))}`;

/** The same search by the meaning of its words; null for one without words. */
function searchByMeaning(search: string): string | null {
  const terms = parseSearch(search);
  const isWord = ({ meaning, isNot }: (typeof terms)[number]) => "words" in meaning && !isNot;
  const words = terms.flatMap(({ meaning, isNot }) => ("words" in meaning && !isNot ? [meaning.words] : []));
  if (words.length === 0 || isByMeaning(search)) return null;
  const filters = terms.filter((term) => !isWord(term)).map(({ source }) => source);
  return [...filters, termOf("near", words.join(" "))].join(" ");
}

const most = 30;

interface GridProps {
  readonly images: readonly ListedImage[];
  readonly onOpen: (id: string) => void;
}

/** Pictures in the order in which they are given. */
export function NearGrid({ images, onOpen }: GridProps) {
  const nameOf = useImageName();
  return (
    <ul className="grid grid-cols-[repeat(auto-fill,minmax(8rem,1fr))] gap-1">
      {images.map((image) => (
        <li key={image.id} className="aspect-square bg-well">
          <button
            type="button"
            data-tile={image.id}
            aria-label={nameOf(image)}
            onClick={() => onOpen(image.id)}
            className="block size-full cursor-pointer overflow-hidden"
          >
            <Picture
              imageId={image.id}
              variant="thumbnail"
              thumbhash={image.thumbhash}
              alt=""
              className="size-full object-cover"
            />
          </button>
        </li>
      ))}
    </ul>
  );
}

interface SectionProps {
  readonly search: string;
  /** What the words themselves found, as far as it is loaded. */
  readonly list: {
    readonly images: readonly ListedImage[] | undefined;
    readonly isToOldest: boolean;
  };
  readonly onOpen: (id: string) => void;
}

/** What means the like of the words of a search, once all that they found is loaded. */
function useNear({ search, list }: Pick<SectionProps, "list" | "search">): readonly ListedImage[] {
  const { search: readable = "" } = readableSearch(search);
  const isWhole = list.images !== undefined && list.isToOldest;
  const near = isWhole && !hasTerm(readable, "is:trashed") ? searchByMeaning(readable) : null;
  const isOn = useCapabilities()?.hasMeaning === true && near !== null;
  const filters = { search: near ?? "", stacks: true };
  const { data } = useQuery({
    queryKey: [...keys.imageList(filters), "near"],
    queryFn: () => api.images.list.query({ ...filters, timezone: viewerTimezone(), limit: most }),
    enabled: isOn,
  });
  if (!isOn || !data) return [];
  const known = new Set((list.images ?? []).map(({ id }) => id));
  return data.items.filter(({ id }) => !known.has(id));
}

/** Below what the words of a search found: what means the like. */
export function NearSection({ search, list, onOpen }: SectionProps) {
  const t = useTranslations("gallery");
  const images = useNear({ search, list });
  if (images.length === 0) return null;
  return (
    <section aria-label={t("nearTitle")} className="pt-8 pb-4">
      <h2 className="pb-2.5 text-sm font-medium">{t("nearTitle")}</h2>
      <NearGrid images={images} onOpen={onOpen} />
    </section>
  );
}
