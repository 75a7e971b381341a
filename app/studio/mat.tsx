"use client";
import { type DragEvent, type ReactNode, useState } from "react";
import { cx } from "../ui/cx.ts";
import { carriesFiles, filesOf } from "../uploads/take-files.ts";

interface Props {
  readonly isEmpty: boolean;
  /** Width by height. */
  readonly proportion: number;
  readonly onFile?: (file: File) => void;
  readonly children: ReactNode;
}

/** The ground a picture hangs on; takes a dropped one. */
export function Mat({ isEmpty, proportion, onFile, children }: Props) {
  const [isOver, setOver] = useState(false);
  const takesDrops = onFile !== undefined;
  const over = (event: DragEvent) => {
    if (takesDrops && carriesFiles(event.dataTransfer)) setOver(true);
  };
  const drop = (event: DragEvent) => {
    setOver(false);
    const [file] = filesOf(event.dataTransfer);
    if (!takesDrops || file === undefined) return;
    event.preventDefault();
    onFile(file);
  };
  return (
    <div
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      style={{ aspectRatio: proportion }}
      className={cx(
        "relative flex w-full items-center justify-center overflow-hidden rounded-card transition-colors duration-150 wide:max-h-[max(380px,calc(100dvh-300px))] wide:min-h-50",
        isEmpty
          ? "border border-dashed border-edge/60 bg-well/60 max-wide:aspect-auto! max-wide:min-h-56 wide:min-h-85"
          : "border border-line bg-surface p-2.5 max-wide:max-h-[130vw]",
        isOver && "border-solid border-accent bg-accent-tint",
      )}
    >
      {children}
    </div>
  );
}
