"use client";
import { type DragEvent, type ReactNode, useState } from "react";
import { cx } from "../ui/cx.ts";
import { carriesFiles, filesOf } from "../uploads/take-files.ts";

interface Props {
  readonly isEmpty: boolean;
  readonly onFile?: (file: File) => void;
  readonly children: ReactNode;
}

/** The ground a picture hangs on; takes a dropped one. */
export function Mat({ isEmpty, onFile, children }: Props) {
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
      className={cx(
        "relative flex h-[min(116vw,480px)] items-center justify-center overflow-hidden rounded-card transition-colors duration-150 wide:h-[clamp(340px,calc(100dvh-346px),760px)]",
        isEmpty ? "border border-dashed border-edge/60 bg-well/60" : "border border-line bg-surface",
        isOver && "border-solid border-accent bg-accent-tint",
      )}
    >
      {children}
    </div>
  );
}
