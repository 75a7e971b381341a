"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Users } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { api } from "../client/api.ts";
import { failureOf, useFailureToast } from "../ui/failures.ts";
import { boardFileUrl } from "../client/urls.ts";
import { canLoadMore, keys, retryLoad } from "../client/queries.ts";
import { justify, tileHeightPx } from "../pictures/justify.ts";
import { LoadFailed, PageHeader } from "../parts/page-parts.tsx";
import { AiBadge, Picture } from "../pictures/picture.tsx";
import { RowsSkeleton } from "../pictures/skeleton.tsx";
import { Button, buttonStyle } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";
import { useBoxSize } from "../ui/box-size.ts";
import { useNearEnd } from "../ui/scrolling.ts";
import { Confirmation } from "../ui/confirmation.tsx";
import { toastDone, toastWithUndo } from "../ui/toasts.tsx";
import { Lightbox } from "./lightbox.tsx";
import { MembersDialog } from "./members.tsx";
import { type BoardPicture, useBoardPictures, useOpenBoard, useRefreshBoards } from "../client/boards.ts";

type Board = NonNullable<ReturnType<typeof useOpenBoard>["data"]>;

/** A member leaves, after a question when pictures of theirs would go, too. */
function Leave({ board }: { readonly board: Board }) {
  const t = useTranslations("boards");
  const router = useRouter();
  const refresh = useRefreshBoards();
  const onError = useFailureToast();
  const [isAsked, setAsked] = useState(false);
  const leave = useMutation({
    mutationFn: () => api.boards.leave.mutate({ id: board.id }),
    onSuccess: () => {
      toastDone(t("left", { name: board.name }));
      router.push("/gallery");
      return refresh();
    },
    onError,
  });
  return (
    <>
      <Button onClick={() => setAsked(true)}>{t("leave")}</Button>
      <Confirmation
        open={isAsked}
        onOpenChange={setAsked}
        title={t("leaveTitle", { name: board.name })}
        keep={t("stay")}
        confirm={t("leave")}
        isBusy={leave.isPending}
        onConfirm={() => leave.mutate()}
      >
        {t("leaveText")}
      </Confirmation>
    </>
  );
}

function Actions({ board }: { readonly board: Board }) {
  const t = useTranslations("boards");
  const [isSharing, setSharing] = useState(false);
  if (board.right !== "own") return <Leave board={board} />;
  return (
    <>
      <Button onClick={() => setSharing(true)}>
        <Users aria-hidden />
        {t("share")}
      </Button>
      {isSharing ? <MembersDialog board={board} onClose={() => setSharing(false)} /> : null}
    </>
  );
}

interface TileProps {
  readonly boardId: string;
  readonly picture: BoardPicture;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly onOpen: () => void;
}

function Tile({ boardId, picture, widthPx, heightPx, onOpen }: TileProps) {
  const t = useTranslations("boards");
  const title = picture.title || t("picture");
  return (
    <li className="relative overflow-hidden bg-well" style={{ width: widthPx, height: heightPx }}>
      <button
        type="button"
        data-tile={picture.id}
        aria-label={t("tile", { title, name: picture.ownerName })}
        onClick={onOpen}
        className="block size-full focus-visible:-outline-offset-2"
      >
        <Picture
          imageId={picture.id}
          src={boardFileUrl(boardId, picture.id, "thumbnail")}
          variant="thumbnail"
          thumbhash={picture.thumbhash}
          alt=""
          className="size-full"
        />
      </button>
      <span className="pointer-events-none absolute end-1.5 bottom-1.5 flex max-w-[calc(100%-0.75rem)] items-center gap-1.5">
        {picture.isOwn ? null : (
          <span className="truncate rounded-[4px] bg-black/65 px-1.5 text-[11px] leading-[18px] text-white">
            {picture.ownerName}
          </span>
        )}
        {picture.isAi ? <AiBadge /> : null}
      </span>
    </li>
  );
}

/** Takes a picture off: an own one with undo; one of somebody else only they could put back, so that is asked before. */
function useTakeOff(board: Board) {
  const t = useTranslations("boards");
  const refresh = useRefreshBoards();
  const onError = useFailureToast();
  const putBack = useMutation({
    mutationFn: (imageIds: string[]) => api.boards.add.mutate({ id: board.id, imageIds }),
    onError,
    onSettled: refresh,
  });
  return useMutation({
    mutationFn: ({ id }: BoardPicture) => api.boards.takeOut.mutate({ id: board.id, imageIds: [id] }),
    onSuccess: ({ ids }, { isOwn }) => {
      const title = t("takenOut", { name: board.name, count: 1 });
      if (isOwn) toastWithUndo({ title, undoLabel: t("undo"), onUndo: () => putBack.mutate(ids) });
      else toastDone(title);
    },
    onError,
    onSettled: refresh,
  });
}

/** Puts a copy of somebody else's picture into the own gallery. */
function useCopy(board: Board) {
  const t = useTranslations("boards");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const refresh = () =>
    Promise.all([keys.images, keys.usage].map((queryKey) => queries.invalidateQueries({ queryKey })));
  const remove = useMutation({
    mutationFn: (id: string) => api.images.remove.mutate({ ids: [id] }),
    onError,
    onSettled: refresh,
  });
  return useMutation({
    mutationFn: ({ id }: BoardPicture) => api.boards.copy.mutate({ id: board.id, imageId: id }),
    onSuccess: ({ id, created }) => {
      if (!created) return toastDone(t("copiedBefore"));
      return toastWithUndo({ title: t("copied"), undoLabel: t("undo"), onUndo: () => remove.mutate(id) });
    },
    onError,
    onSettled: refresh,
  });
}

interface AskProps {
  readonly picture: BoardPicture | null;
  readonly onClose: () => void;
  readonly onConfirm: (picture: BoardPicture) => void;
}

function AskTakeOff({ picture, onClose, onConfirm }: AskProps) {
  const t = useTranslations("boards");
  if (picture === null) return null;
  return (
    <Confirmation
      open
      onOpenChange={(open) => open || onClose()}
      title={t("takeOff")}
      keep={t("keepIt")}
      confirm={t("takeOff")}
      onConfirm={() => {
        onClose();
        onConfirm(picture);
      }}
    >
      {t("takeOffText", { name: picture.ownerName })}
    </Confirmation>
  );
}

const gapPx = 4;

function Empty({ board }: { readonly board: Board }) {
  const t = useTranslations("boards");
  const maySee = board.right === "see";
  return (
    <EmptyState
      title={t("emptyTitle")}
      text={t(maySee ? "emptySeeText" : "emptyAddText", { name: board.name })}
    >
      {maySee ? null : (
        <Link href="/gallery" className={buttonStyle("plain")}>
          {t("toGallery")}
        </Link>
      )}
    </EmptyState>
  );
}

function Pictures({ board }: { readonly board: Board }) {
  const query = useBoardPictures(board.id);
  const [shownId, setShownId] = useState<string | null>(null);
  const [asked, setAsked] = useState<BoardPicture | null>(null);
  const endRef = useNearEnd(() => void query.fetchNextPage(), canLoadMore(query));
  const takeOff = useTakeOff(board);
  const copy = useCopy(board);
  const pictures = query.data?.pages.flatMap(({ items }) => items) ?? [];
  const [list, setList] = useState<HTMLUListElement | null>(null);
  // A pixel less, so that no rounding breaks a row.
  const widthPx = Math.floor(useBoxSize(list).width) - 1;
  const rows =
    widthPx > 0 ? justify(pictures, { widthPx, targetHeightPx: tileHeightPx(widthPx), gapPx }) : [];
  const shown = pictures.find(({ id }) => id === shownId);
  const mayTakeOff = board.right === "own" || shown?.isOwn === true;
  if (query.data && pictures.length === 0) return <Empty board={board} />;
  return (
    <>
      {query.isPending ? <RowsSkeleton /> : null}
      <ul
        ref={setList}
        aria-label={board.name}
        aria-busy={query.isPending}
        className="flex flex-wrap"
        style={{ gap: gapPx }}
      >
        {rows.flatMap(({ items, heightPx, widthsPx }) =>
          items.map((picture, at) => (
            <Tile
              key={picture.id}
              boardId={board.id}
              picture={picture}
              widthPx={widthsPx[at] ?? 0}
              heightPx={heightPx}
              onOpen={() => setShownId(picture.id)}
            />
          )),
        )}
      </ul>
      {query.isError ? <LoadFailed error={query.error} onRetry={() => retryLoad(query)} /> : null}
      <div ref={endRef} className="h-8" />
      <Lightbox
        boardId={board.id}
        pictures={pictures}
        shownId={shownId}
        onShow={setShownId}
        onCopy={copy.mutate}
        onTakeOff={
          mayTakeOff ? (picture) => (picture.isOwn ? takeOff.mutate(picture) : setAsked(picture)) : null
        }
      />
      <AskTakeOff picture={asked} onClose={() => setAsked(null)} onConfirm={takeOff.mutate} />
    </>
  );
}

/** A board with the pictures of all who put some there. */
export function SharedBoard({ id }: { readonly id: string }) {
  const t = useTranslations("boards");
  const query = useOpenBoard(id);
  const board = query.data;
  const isGone = query.isError && failureOf(query.error).code === "not_found";
  if (query.isError && (isGone || board === undefined))
    return (
      <LoadFailed error={query.error} onRetry={() => void query.refetch()}>
        <Link href="/gallery" className={buttonStyle()}>
          {t("toGallery")}
        </Link>
      </LoadFailed>
    );
  if (board === undefined)
    return (
      <>
        <PageHeader title={t("board")} />
        <RowsSkeleton className="px-4 pt-9 sm:px-6 wide:px-8" />
      </>
    );
  const count = t("pictures", { count: board.pictures });
  return (
    <>
      <PageHeader title={board.name}>
        <Actions board={board} />
      </PageHeader>
      <div className="px-4 sm:px-6 wide:px-8">
        <p className="mb-4 text-sm text-quiet">
          {board.right === "own" ? t("ofYou", { count }) : t("of", { name: board.ownerName, count })}
        </p>
        <Pictures board={board} />
      </div>
    </>
  );
}
