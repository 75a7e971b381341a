"use client";
import type { ImageView } from "@atelier/server/images";
import { useEffect } from "react";
import { isTyping } from "../../frame/shortcuts/is-typing.ts";
import { useRemoveImages } from "../../pictures/actions.tsx";
import { useStar } from "../../pictures/use-star.ts";

interface Options {
  readonly image: ImageView;
  readonly onStep: (by: number) => void;
  readonly onRemoved: () => void;
}

/** What moves by arrows itself. */
const ownArrows = "[role=slider], [role=menu]";

function belongsElsewhere({ key, target }: KeyboardEvent): boolean {
  return key.startsWith("Arrow") && target instanceof Element && target.closest(ownArrows) !== null;
}

export function useViewerKeys({ image, onStep, onRemoved }: Options): void {
  const star = useStar();
  const remove = useRemoveImages();
  useEffect(() => {
    const keys: Record<string, () => void> = {
      ArrowLeft: () => onStep(-1),
      ArrowRight: () => onStep(1),
      s: () => star.mutate({ ids: [image.id], starred: !image.starred }),
      Delete: () => {
        remove([image.id]);
        onRemoved();
      },
    };
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || belongsElsewhere(event)) return;
      keys[event.key]?.();
    };
    // On the way down: the dialog lets no arrow key through on the way up.
    window.addEventListener("keydown", press, { capture: true });
    return () => window.removeEventListener("keydown", press, { capture: true });
  }, [image, onRemoved, onStep, remove, star]);
}
