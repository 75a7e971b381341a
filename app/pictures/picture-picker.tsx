"use client";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Check, Search } from "lucide-react";
import { useTranslations } from "next-intl";
import { type KeyboardEvent, useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { api } from "../client/api.ts";
import { searchOf, useBoards } from "../client/boards.ts";
import { byCursor, canLoadMore, keys, retryLoad, viewerTimezone } from "../client/queries.ts";
import { hasTerm, readableSearch } from "../client/search-terms.ts";
import { FilterChips } from "../parts/filters.tsx";
import { LoadFailed } from "../parts/page-parts.tsx";
import { Button, cx, inputStyle } from "../ui/button.tsx";
import { Chip, EmptyState } from "../ui/display.tsx";
import { useSettled } from "../ui/hooks.ts";
import { isCombined } from "../ui/key-press.ts";
import { Dialog } from "../ui/overlays.tsx";
import { useNearEnd } from "../ui/scrolling.ts";
import { Picture, useImageName } from "./picture.tsx";
import { moveBetweenTiles } from "./tile-keys.ts";

interface PickerProps {
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
  readonly leftOut: readonly string[];
  readonly most: number;
  readonly onChoose: (imageIds: readonly string[]) => void;
}

/** What came last into the gallery is first, as in the strip before. */
const filters = { limit: 60, order: "added" } as const;
const quietMs = 250;

/** What is in the trash cannot be used. */
const trashTerm = "is:trashed";

/** The pictures that a search finds, page by page; those of the search before stay until they are there. */
function useFound(text: string, leftOut: readonly string[]) {
  const { search } = readableSearch(useSettled(text, quietMs));
  const isTrash = search !== undefined && hasTerm(search, trashTerm);
  const query = useInfiniteQuery({
    queryKey: keys.imageList({ ...filters, search, paged: true }),
    queryFn: ({ pageParam, signal }) =>
      api.images.list.query(
        { ...filters, search, timezone: viewerTimezone(), cursor: pageParam ?? undefined },
        { signal },
      ),
    ...byCursor,
    enabled: !isTrash,
    placeholderData: isTrash ? undefined : keepPreviousData,
  });
  const images = query.data?.pages.flatMap(({ items }) => items.filter(({ id }) => !leftOut.includes(id)));
  return { query, images: isTrash ? [] : images, hasSearch: search !== undefined };
}

interface SearchProps {
  readonly text: string;
  readonly setText: (text: string) => void;
  /** Leaves the line for the pictures. */
  readonly onDown: () => void;
}

/** A line in the language of the gallery's search, and the boards as ways to fill it. */
function SearchPart({ text, setText, onDown }: SearchProps) {
  const t = useTranslations("picker");
  const takes = useTranslations("gallery.search.takes");
  const boards = useBoards() ?? [];
  const { wrong } = readableSearch(text);
  return (
    <>
      <div className="relative">
        <Search
          className="pointer-events-none absolute top-1/2 inset-s-2.5 size-4 -translate-y-1/2 text-quiet"
          aria-hidden
        />
        <input
          type="search"
          aria-label={t("search")}
          aria-describedby={wrong ? "picker-wrong" : undefined}
          aria-invalid={wrong ? true : undefined}
          placeholder={t("search")}
          maxLength={500}
          autoCapitalize="none"
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "ArrowDown" || isCombined(event)) return;
            event.preventDefault();
            onDown();
          }}
          className={cx(inputStyle, "h-9! ps-8!")}
        />
      </div>
      {wrong ? (
        <p id="picker-wrong" role="status" className="text-xs text-warn">
          {takes(wrong.operator)}
        </p>
      ) : null}
      {boards.length === 0 ? null : (
        <FilterChips label={t("boards")} className="max-h-28 wide:overflow-y-auto">
          <Chip pressed={text === ""} onPress={() => setText("")}>
            {t("all")}
          </Chip>
          {boards.map((board) => {
            const isShown = text.toLowerCase() === searchOf(board).toLowerCase();
            return (
              <Chip key={board.id} pressed={isShown} onPress={() => setText(isShown ? "" : searchOf(board))}>
                <span className="max-w-48 truncate">{board.name}</span>
              </Chip>
            );
          })}
        </FilterChips>
      )}
    </>
  );
}

interface TilesProps {
  readonly images: readonly ImageView[];
  readonly chosen: readonly string[];
  readonly isFull: boolean;
  readonly onPress: (imageId: string) => void;
}

/** One stop of the Tab key, between whose pictures the arrow keys move. */
function Tiles({ images, chosen, isFull, onPress }: TilesProps) {
  const t = useTranslations("pictures");
  const nameOf = useImageName();
  const [focusedId, setFocusedId] = useState<string | null>(null);
  const stop = images.some(({ id }) => id === focusedId) ? focusedId : images[0]?.id;
  const move = ({ nativeEvent, currentTarget }: KeyboardEvent) => {
    const list = currentTarget.closest("ul");
    if (list !== null) moveBetweenTiles(nativeEvent, list);
  };
  return images.map((image) => {
    const isChosen = chosen.includes(image.id);
    return (
      <li key={image.id} className="relative">
        <button
          type="button"
          data-tile={image.id}
          tabIndex={image.id === stop ? 0 : -1}
          aria-label={t("usePicture", { name: nameOf(image) })}
          aria-pressed={isChosen}
          aria-disabled={isFull && !isChosen}
          onFocus={() => setFocusedId(image.id)}
          onKeyDown={move}
          onClick={() => onPress(image.id)}
          className="block aspect-square w-full overflow-hidden rounded-control ring-1 ring-line transition duration-150 not-aria-disabled:hover:ring-2 not-aria-disabled:hover:ring-ink aria-disabled:opacity-40 aria-pressed:ring-2 aria-pressed:ring-accent"
        >
          <Picture
            imageId={image.id}
            variant="thumbnail"
            thumbhash={image.thumbhash}
            alt=""
            className="size-full"
          />
        </button>
        {isChosen ? (
          <span className="pointer-events-none absolute end-1 top-1 flex size-5 items-center justify-center rounded-full bg-accent text-on-accent">
            <Check className="size-3.5" aria-hidden />
          </span>
        ) : null}
      </li>
    );
  });
}

function Empty({ hasSearch }: { readonly hasSearch: boolean }) {
  const t = useTranslations("picker");
  return hasSearch ? (
    <EmptyState title={t("nothingTitle")} text={t("nothingText")} />
  ) : (
    <EmptyState title={t("emptyTitle")} text={t("emptyText")} />
  );
}

function Waiting() {
  return Array.from({ length: 15 }, (_, at) => (
    <li key={at} aria-hidden className="aspect-square animate-breathe rounded-control bg-well" />
  ));
}

type ChoiceProps = Omit<PickerProps, "isOpen" | "onOpenChange">;

function Choice({ leftOut, most, onChoose }: ChoiceProps) {
  const t = useTranslations("picker");
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const { query, images, hasSearch } = useFound(text, leftOut);
  const list = useRef<HTMLUListElement>(null);
  const endRef = useNearEnd(() => void query.fetchNextPage(), canLoadMore(query));
  const press = (id: string) => {
    if (most === 1) return onChoose([id]);
    if (chosen.includes(id)) return setChosen(chosen.filter((one) => one !== id));
    return chosen.length < most ? setChosen([...chosen, id]) : undefined;
  };
  const goToTiles = () => list.current?.querySelector<HTMLElement>('[data-tile][tabindex="0"]')?.focus();
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <SearchPart text={text} setText={setText} onDown={goToTiles} />
      <div className="-m-1 h-[45dvh] overflow-y-auto p-1">
        {images?.length === 0 && !query.hasNextPage ? <Empty hasSearch={hasSearch} /> : null}
        <ul
          ref={list}
          aria-label={t("list")}
          aria-busy={query.isFetching}
          className="grid grid-cols-[repeat(auto-fill,minmax(88px,1fr))] gap-1.5"
        >
          {images === undefined && query.isPending ? <Waiting /> : null}
          <Tiles images={images ?? []} chosen={chosen} isFull={chosen.length >= most} onPress={press} />
        </ul>
        {query.isError ? <LoadFailed error={query.error} onRetry={() => retryLoad(query)} /> : null}
        <div ref={endRef} className="h-8" />
      </div>
      {most === 1 ? null : (
        <Button
          look="primary"
          className="self-end"
          disabled={chosen.length === 0}
          onClick={() => onChoose(chosen)}
        >
          {t("use", { count: chosen.length })}
        </Button>
      )}
    </div>
  );
}

/** What `FromGallery` opens once it is loaded: all pictures of the gallery, found by its search and its boards. */
export function PicturePicker({ isOpen, onOpenChange, onChoose, ...choice }: PickerProps) {
  const t = useTranslations("picker");
  const take = (imageIds: readonly string[]) => {
    onOpenChange(false);
    onChoose(imageIds);
  };
  return (
    <Dialog open={isOpen} onOpenChange={onOpenChange} title={t("title", { most: choice.most })}>
      <Choice {...choice} onChoose={take} />
    </Dialog>
  );
}
