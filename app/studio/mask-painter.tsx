"use client";
import { Dialog } from "@base-ui/react/dialog";
import { useTranslations } from "next-intl";
import { type KeyboardEvent, type Ref, useImperativeHandle, useRef } from "react";
import type { ImageView } from "@atelier/server/images";
import { hasPaint, type Mark } from "../edit/mask/marks.ts";
import { useEditKeys, useEditor, useMarks } from "../edit/session.ts";
import { EditStage } from "../edit/stage.tsx";
import { ToolColumn } from "../edit/tools/column.tsx";
import { ToolPanel } from "../edit/tools/options.tsx";
import { isRunKey } from "../parts/run-button.tsx";
import { Button } from "../ui/button.tsx";
import { personMask } from "./state.ts";

interface Props {
  readonly person: ImageView;
  readonly marks: readonly Mark[];
  readonly onClose: () => void;
}

interface PainterProps extends Props {
  /** Receives the function that closes the painter and keeps the mask. */
  readonly leaveRef: Ref<() => void>;
}

/** The person's photo, on which the user paints the area of the garment. */
function Painter({ person, marks, onClose, leaveRef }: PainterProps) {
  const t = useTranslations("studio.mask");
  const session = useEditor(useMarks({ marks, undone: [] }));
  useEditKeys(session);
  const done = () => {
    const { history } = session;
    personMask.set({ personId: person.id, marks: history.marks, isPainted: hasPaint(history, person) });
    onClose();
  };
  useImperativeHandle(leaveRef, () => done);
  const press = (event: KeyboardEvent) => {
    if (!isRunKey(event.nativeEvent)) return;
    event.stopPropagation();
    event.preventDefault();
    done();
  };
  return (
    <Dialog.Popup
      data-viewer
      onKeyDown={press}
      className="stage room fixed inset-0 z-50 flex flex-col outline-none"
    >
      <header className="flex min-h-14 shrink-0 flex-wrap items-center gap-x-4 gap-y-1 border-b border-line px-4 py-2">
        <Dialog.Title className="text-sm font-medium">{t("title")}</Dialog.Title>
        <Dialog.Description className="min-w-0 flex-1 text-xs text-quiet max-sm:order-last max-sm:basis-full">
          {t("hint")}
        </Dialog.Description>
        <Button size="small" look="quiet" className="ms-auto" onClick={onClose}>
          {t("cancel")}
        </Button>
        <Button size="small" look="primary" onClick={done}>
          {t("done")}
        </Button>
      </header>
      <div className="flex min-h-0 flex-1 max-wide:flex-col-reverse">
        <ToolColumn session={session} />
        <EditStage image={person} session={session} />
        <div className="shrink-0 border-line p-4 max-wide:border-b wide:w-[288px] wide:border-s">
          <ToolPanel session={session} />
        </div>
      </div>
    </Dialog.Popup>
  );
}

/** Escape keeps the mask; only Cancel discards it. */
export function MaskPainter({ isOpen, ...props }: Props & { readonly isOpen: boolean }) {
  const leave = useRef<() => void>(null);
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => open || leave.current?.()}>
      <Dialog.Portal>{isOpen ? <Painter {...props} leaveRef={leave} /> : null}</Dialog.Portal>
    </Dialog.Root>
  );
}
