"use client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Check, LayoutGrid, Minus } from "lucide-react";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { type Board, useRefreshBoards, useSharedBoards } from "../client/boards.ts";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { Button, buttonStyle, IconButton } from "../ui/button.tsx";
import { Field } from "../ui/fields.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { toastDone, toastWithUndo } from "../ui/toasts.tsx";
import { callFor, idsPerCall } from "./actions.tsx";
import { BoardCover } from "./board-cover.tsx";

/** A board in a list to choose from; `ownerName` of those that others share. */
type ChosenBoard = Pick<Board, "id" | "name" | "held" | "coverIds" | "pictures"> & {
  readonly ownerName?: string;
};

/** The server cuts nothing: longer names are refused. */
const nameCharacters = 60;

/** The boards that take pictures, each with how many of these it holds: the own ones, and those shared with the right to add. */
function useBoardsFor(imageIds: readonly string[]): readonly ChosenBoard[] | undefined {
  const asked = imageIds.slice(0, idsPerCall);
  const shared = useSharedBoards(asked);
  const { data } = useQuery({
    queryKey: keys.boardsOf(asked),
    queryFn: () => api.boards.list.query({ imageIds: asked }),
  });
  const own = data?.items.filter(({ search }) => search === null);
  if (own === undefined || shared === undefined) return undefined;
  return [...own, ...shared.filter(({ right }) => right === "add")];
}

interface Put {
  readonly board: Pick<Board, "id" | "name">;
  readonly imageIds: readonly string[];
  readonly act: "add" | "takeOut";
}

async function put({ board, imageIds, act }: Put): Promise<string[]> {
  const changed: string[] = [];
  const { failure } = await callFor(imageIds, async (some) => {
    changed.push(...(await api.boards[act].mutate({ id: board.id, imageIds: some })).ids);
  });
  if (failure) throw failure.error;
  return changed;
}

/** Puts pictures on a board or takes them off, with undo. */
function usePut() {
  const t = useTranslations("boards");
  const refresh = useRefreshBoards();
  const showFailure = useFailureToast();
  return useMutation({
    mutationFn: put,
    onSuccess: (imageIds, { board, act, imageIds: asked }) => {
      // What they were turned from goes with them, and is not seen beside them.
      const count = imageIds.filter((id) => asked.includes(id)).length;
      if (count === 0) return;
      const back = { board, imageIds, act: act === "add" ? ("takeOut" as const) : ("add" as const) };
      toastWithUndo({
        title: t(act === "add" ? "added" : "takenOut", { name: board.name, count }),
        undoLabel: t("undo"),
        onUndo: () =>
          void put(back)
            .catch(showFailure)
            .finally(() => void refresh()),
      });
    },
    onError: showFailure,
    onSettled: refresh,
  });
}

interface BoardFormProps {
  /** Makes a saved search. */
  readonly search?: string;
  readonly imageIds?: readonly string[];
  readonly onMade: (board: Board) => void;
}

/** A name, and a button that makes a board of it. */
export function BoardForm({ search, imageIds = [], onMade }: BoardFormProps) {
  const t = useTranslations("boards");
  const [name, setName] = useState("");
  const refresh = useRefreshBoards();
  const showFailure = useFailureToast();
  const make = useMutation({
    mutationFn: async (given: string) => {
      const board = await api.boards.create.mutate({
        name: given,
        ...(search === undefined ? {} : { search }),
      });
      await put({ board, imageIds, act: "add" });
      return board;
    },
    onSuccess: (board, given) => {
      // What was typed meanwhile stays.
      setName((now) => (now === given ? "" : now));
      toastDone(t(search === undefined ? "made" : "saved", { name: board.name }));
      onMade(board);
    },
    onError: showFailure,
    onSettled: refresh,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "") make.mutate(name);
  };
  return (
    <form onSubmit={submit} className="flex items-end gap-2">
      <div className="min-w-0 flex-1">
        <Field
          name="name"
          label={t(search === undefined ? "newName" : "searchName")}
          maxLength={nameCharacters}
          value={name}
          onValueChange={setName}
        />
      </div>
      <Button type="submit" look="primary" disabled={make.isPending}>
        {t(search === undefined ? "make" : "save")}
      </Button>
    </form>
  );
}

function BoardChoice({
  board,
  imageIds,
}: {
  readonly board: ChosenBoard;
  readonly imageIds: readonly string[];
}) {
  const t = useTranslations("boards");
  const { mutate, isPending } = usePut();
  const holdsAll = board.held === Math.min(imageIds.length, idsPerCall);
  const state = holdsAll ? true : board.held > 0 ? "mixed" : false;
  return (
    <button
      type="button"
      role="checkbox"
      aria-checked={state}
      disabled={isPending}
      onClick={() => mutate({ board, imageIds, act: holdsAll ? "takeOut" : "add" })}
      className="flex min-h-11 w-full items-center gap-3 rounded-control px-2 text-start text-sm hover:bg-hover"
    >
      <BoardCover board={board} className="size-8" />
      <span className="min-w-0 flex-1 truncate">
        {board.name}
        {board.ownerName === undefined ? null : (
          <span className="text-quiet"> {t("by", { name: board.ownerName })}</span>
        )}
      </span>
      <span className="tabular text-xs text-quiet">{t("pictures", { count: board.pictures ?? 0 })}</span>
      <span className="flex size-4 items-center justify-center">
        {state === true ? <Check className="size-4" aria-hidden /> : null}
        {state === "mixed" ? <Minus className="size-4 text-quiet" aria-hidden /> : null}
      </span>
    </button>
  );
}

function BoardChoices({ imageIds }: { readonly imageIds: readonly string[] }) {
  const t = useTranslations("boards");
  const boards = useBoardsFor(imageIds);
  return (
    <div className="flex flex-col gap-4">
      {boards?.length === 0 ? <p className="text-sm text-quiet">{t("noneYet")}</p> : null}
      <ul className="-mx-2 max-h-[40dvh] overflow-y-auto empty:hidden">
        {boards?.map((board) => (
          <li key={board.id}>
            <BoardChoice board={board} imageIds={imageIds} />
          </li>
        ))}
      </ul>
      <BoardForm imageIds={imageIds} onMade={() => undefined} />
    </div>
  );
}

interface BoardButtonProps {
  readonly imageIds: readonly string[];
  readonly look: "icon" | "quiet";
}

/** Opens the boards on which pictures are put, or taken from. */
export function BoardButton({ imageIds, look }: BoardButtonProps) {
  const t = useTranslations("boards");
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      {look === "icon" ? (
        <IconButton label={t("addTo")} onClick={() => setOpen(true)}>
          <LayoutGrid aria-hidden />
        </IconButton>
      ) : (
        <button type="button" onClick={() => setOpen(true)} className={buttonStyle("quiet", "small")}>
          <LayoutGrid aria-hidden />
          <span className="max-sm:sr-only">{t("board")}</span>
        </button>
      )}
      <Dialog open={isOpen} onOpenChange={setOpen} title={t("choose", { count: imageIds.length })}>
        <BoardChoices imageIds={imageIds} />
      </Dialog>
    </>
  );
}
