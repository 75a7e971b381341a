"use client";
import { Bookmark, Images, Plus, Users } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { type KeyboardEvent, type PointerEvent, useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import {
  type Board,
  searchOf,
  type SharedBoard,
  useBoards,
  useSavedCounts,
  useSharedBoards,
} from "../client/boards.ts";
import { withoutOrder } from "../client/search-terms.ts";
import { useFailureToast } from "../ui/failures.ts";
import { FilterChips, useSearchFilter } from "../parts/filters.tsx";
import { BoardCover } from "../pictures/board-cover.tsx";
import { Button, cx } from "../ui/button.tsx";
import { Chip, chipStyle } from "../ui/display.tsx";
import { later } from "../ui/later.tsx";

const BoardMenu = later(async () => (await import("./board-dialogs.tsx")).BoardMenu);
const NewBoardDialog = later(async () => (await import("./board-dialogs.tsx")).NewBoardDialog);

/** On a wide screen the strip is a list at the side of the pictures, and a chip one of its lines. */
const sideLine =
  "xl:h-9 xl:w-full xl:min-w-0 xl:shrink xl:justify-start xl:gap-2.5 xl:rounded-control xl:border-transparent xl:px-2.5 xl:text-sm xl:font-normal xl:text-ink xl:aria-pressed:border-transparent xl:aria-pressed:bg-hover xl:aria-pressed:font-medium xl:aria-pressed:text-ink";
const cover = "-ms-1.5 size-5 xl:ms-0 xl:-me-0.5";
const sideName = "max-w-48 truncate xl:max-w-none";
const sideCount = "tabular opacity-70 xl:ms-auto xl:text-xs";

function SideHeading({ children }: { readonly children: string }) {
  return <h2 className="hidden px-2.5 pt-5 pb-1.5 text-xs font-medium text-quiet xl:block">{children}</h2>;
}

/** Of a saved search 100 stands for any number above 99. */
const mostShown = 99;

/** A board is dragged to another place of the list, or goes there by Alt and an arrow. */
function useBoardOrder() {
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  return {
    onPointerDown: ({
      button,
      pointerType,
      currentTarget,
      clientY,
      pointerId,
    }: PointerEvent<HTMLElement>) => {
      // A finger scrolls the list.
      if (button !== 0 || pointerType === "touch") return;
      void import("./board-order.ts")
        .then(({ moveByPointer }) =>
          moveByPointer(queries, currentTarget, { clientY, pointerId }, showFailure),
        )
        .catch(showFailure);
    },
    onKeyDown: (event: KeyboardEvent<HTMLElement>) => {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (by === undefined || !event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const { currentTarget } = event;
      void import("./board-order.ts")
        .then(({ moveByKey }) => moveByKey(queries, currentTarget, by))
        .catch(showFailure);
    },
  };
}

interface BoardChipProps {
  readonly board: Board;
  readonly search: string;
  /** Of a board its pictures, of a saved search what it finds; null: not known. */
  readonly pictures: number | null;
}

function BoardChip({ board, search, pictures }: BoardChipProps) {
  const t = useTranslations("boards");
  const { go } = useSearchFilter();
  const showFailure = useFailureToast();
  const own = searchOf(board).toLowerCase();
  // In whichever order.
  const isShown = [search, withoutOrder(search)].some((one) => one?.toLowerCase() === own);
  return (
    <span data-board={board.id} className="flex shrink-0 items-center rounded-control">
      <Chip
        aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown"
        {...useBoardOrder()}
        className={sideLine}
        pressed={isShown}
        onPress={() => go("search", isShown ? null : searchOf(board))}
      >
        {board.search === null ? <BoardCover board={board} className={cover} /> : <Bookmark aria-hidden />}
        <span className={sideName}>{board.name}</span>
        {pictures === null ? null : (
          <span className={sideCount}>
            {board.search !== null && pictures > mostShown ? `${mostShown}+` : pictures}
          </span>
        )}
        {board.members === 0 ? null : <Users role="img" aria-label={t("isShared")} className="opacity-70" />}
      </Chip>
      {isShown ? (
        <BoardMenu isWanted onFailure={showFailure} props={{ board }}>
          <span className="size-8" />
        </BoardMenu>
      ) : null}
    </span>
  );
}

/** A board of somebody else: a link to its page, since the gallery shows only one's own pictures. */
function SharedChip({ board }: { readonly board: SharedBoard }) {
  const t = useTranslations("boards");
  return (
    <Link
      href={`/boards/${board.id}`}
      title={t("by", { name: board.ownerName })}
      className={cx(chipStyle, sideLine)}
    >
      <BoardCover board={board} className={cover} />
      <span className={sideName}>{board.name}</span>
      <span className={sideCount}>{board.pictures}</span>
      <Users role="img" aria-label={t("by", { name: board.ownerName })} className="opacity-70" />
    </Link>
  );
}

/** The boards and the saved searches: a press on one puts its search into the line. A strip, on a wide screen a list at the side. */
export function BoardStrip({ search }: { readonly search: string }) {
  const t = useTranslations("boards");
  const { go } = useSearchFilter();
  const boards = useBoards();
  const shared = useSharedBoards();
  const found = useSavedCounts(boards);
  const [isMaking, setMaking] = useState(false);
  const showFailure = useFailureToast();
  const chips = (isSearch: boolean) =>
    boards
      ?.filter((board) => (board.search !== null) === isSearch)
      .map((board) => (
        <BoardChip
          key={board.id}
          board={board}
          search={search}
          pictures={board.pictures ?? found.get(board.id) ?? null}
        />
      ));
  const own = chips(false);
  const searches = chips(true);
  return (
    <FilterChips
      label={t("title")}
      className="xl:sticky xl:top-4 xl:-mx-1 xl:max-h-[calc(100dvh-2rem)] xl:flex-col xl:flex-nowrap xl:gap-0.5 xl:self-start xl:overflow-y-auto xl:px-1 xl:py-1"
    >
      <Chip className={sideLine} pressed={!withoutOrder(search)} onPress={() => go("search", null)}>
        <Images aria-hidden />
        {t("all")}
      </Chip>
      {own?.length || shared?.length ? <SideHeading>{t("title")}</SideHeading> : null}
      <div data-boards className="contents">
        {own}
      </div>
      {shared?.map((board) => (
        <SharedChip key={board.id} board={board} />
      ))}
      {searches?.length ? <SideHeading>{t("searches")}</SideHeading> : null}
      <div data-boards className="contents">
        {searches}
      </div>
      <Button look="quiet" size="small" className="xl:mt-3 xl:self-start" onClick={() => setMaking(true)}>
        <Plus aria-hidden />
        {t("new")}
      </Button>
      <NewBoardDialog
        isWanted={isMaking}
        onFailure={(error) => {
          setMaking(false);
          showFailure(error);
        }}
        props={{ isOpen: isMaking, onOpenChange: setMaking }}
      />
    </FilterChips>
  );
}
