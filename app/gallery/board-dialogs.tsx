"use client";
import { useMutation } from "@tanstack/react-query";
import { BookmarkPlus, Ellipsis } from "lucide-react";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { type Board, searchOf, useBoards, useRefreshBoards } from "../client/boards.ts";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { useSearchFilter } from "../parts/filters.tsx";
import { BoardForm } from "../pictures/boards.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { Field } from "../ui/fields.tsx";
import { later } from "../ui/later.tsx";
import { Dialog, Menu, MenuItem } from "../ui/overlays.tsx";
import { toastWithUndo } from "../ui/toasts.tsx";
import { isBoardAlone } from "../client/search-terms.ts";

const ShareDialog = later(async () => (await import("../links/share.tsx")).ShareDialog);
const MembersDialog = later(async () => (await import("../boards/members.tsx")).MembersDialog);

interface RenameProps {
  readonly board: Board;
  readonly onClose: () => void;
}

/** Gives a board or a saved search another name. */
function RenameDialog({ board, onClose }: RenameProps) {
  const t = useTranslations("boards");
  const { set } = useSearchFilter();
  const [name, setName] = useState(board.name);
  const refresh = useRefreshBoards();
  const onError = useFailureToast();
  const rename = useMutation({
    mutationFn: () => api.boards.change.mutate({ id: board.id, name }),
    onSuccess: (renamed) => {
      set("search", searchOf(renamed));
      onClose();
    },
    onError,
    onSettled: refresh,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    rename.mutate();
  };
  return (
    <Dialog open onOpenChange={(open) => open || onClose()} title={t("renameTitle", { name: board.name })}>
      <form onSubmit={submit} className="flex items-end gap-2">
        <div className="min-w-0 flex-1">
          <Field name="name" label={t("name")} maxLength={60} value={name} onValueChange={setName} />
        </div>
        <Button type="submit" look="primary" disabled={rename.isPending}>
          {t("rename")}
        </Button>
      </form>
    </Dialog>
  );
}

/** What can be done with the board that is shown. */
export function BoardMenu({ board }: { readonly board: Board }) {
  const t = useTranslations("boards");
  const { set } = useSearchFilter();
  const [isRenaming, setRenaming] = useState(false);
  const [isSharing, setSharing] = useState(false);
  const [isLinking, setLinking] = useState(false);
  const refresh = useRefreshBoards();
  const showFailure = useFailureToast();
  const restore = () =>
    api.boards.restore
      .mutate({ id: board.id })
      .then(() => set("search", searchOf(board)))
      .catch(showFailure)
      .finally(() => void refresh());
  const remove = useMutation({
    mutationFn: () => api.boards.remove.mutate({ id: board.id }),
    onSuccess: () => {
      set("search", null);
      toastWithUndo({
        title: t(board.search === null ? "removed" : "searchRemoved", { name: board.name }),
        text: board.search === null ? t("picturesStay") : undefined,
        undoLabel: t("undo"),
        onUndo: () => void restore(),
      });
    },
    onError: showFailure,
    onSettled: refresh,
  });
  return (
    <>
      <Menu
        trigger={
          <IconButton label={t("more", { name: board.name })} className="size-8!">
            <Ellipsis aria-hidden />
          </IconButton>
        }
      >
        {board.search === null ? (
          <>
            <MenuItem onSelect={() => setSharing(true)}>{t("shareMore")}</MenuItem>
            <MenuItem onSelect={() => setLinking(true)}>{t("linkMore")}</MenuItem>
          </>
        ) : null}
        <MenuItem onSelect={() => setRenaming(true)}>{t("rename")}</MenuItem>
        <MenuItem onSelect={() => remove.mutate()}>{t("remove")}</MenuItem>
      </Menu>
      {isRenaming ? <RenameDialog board={board} onClose={() => setRenaming(false)} /> : null}
      <MembersDialog
        isWanted={isSharing}
        isShown={isSharing}
        onFailure={(error) => {
          setSharing(false);
          showFailure(error);
        }}
        props={{ board, onClose: () => setSharing(false) }}
      />
      <ShareDialog
        isWanted={isLinking}
        isShown={isLinking}
        onFailure={(error) => {
          setLinking(false);
          showFailure(error);
        }}
        props={{
          what: { boardId: board.id, name: board.name },
          open: isLinking,
          onOpenChange: setLinking,
        }}
      />
    </>
  );
}

interface MakingProps {
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
}

/** Makes a board, and shows it. */
export function NewBoardDialog({ isOpen, onOpenChange }: MakingProps) {
  const t = useTranslations("boards");
  const { set } = useSearchFilter();
  return (
    <Dialog open={isOpen} onOpenChange={onOpenChange} title={t("newTitle")}>
      <p className="mb-4 text-sm text-quiet">{t("newText")}</p>
      <BoardForm
        onMade={(board) => {
          onOpenChange(false);
          set("search", searchOf(board));
        }}
      />
    </Dialog>
  );
}

/** Keeps a search under a name; nothing is shown for one that is kept already, or that shows a board alone. */
export function SaveSearch({ search }: { readonly search: string | undefined }) {
  const t = useTranslations("boards");
  const boards = useBoards();
  const [isOpen, setOpen] = useState(false);
  const isKept = boards?.some((board) => board.search === search) === true;
  if (search === undefined || isKept || isBoardAlone(search)) return null;
  return (
    <>
      <IconButton label={t("saveSearch")} onClick={() => setOpen(true)}>
        <BookmarkPlus aria-hidden />
      </IconButton>
      <Dialog open={isOpen} onOpenChange={setOpen} title={t("saveSearch")}>
        <p className="mb-4 text-sm text-quiet">{t("saveText", { search })}</p>
        <BoardForm search={search} onMade={() => setOpen(false)} />
      </Dialog>
    </>
  );
}
