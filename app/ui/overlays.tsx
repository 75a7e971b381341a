"use client";
import {
  cloneElement,
  createContext,
  type KeyboardEvent,
  type MouseEvent,
  type ReactElement,
  type ReactNode,
  use,
  useId,
  useState,
} from "react";
import { useFailureToast } from "./failures.ts";
import { later } from "./later.tsx";

const MenuBox = later(async () => (await import("./menu-box.tsx")).MenuBox);
const DialogBox = later(async () => (await import("./dialog-box.tsx")).DialogBox);

interface TriggerProps {
  readonly id?: string;
  readonly onClick?: (event: MouseEvent) => void;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
  readonly "aria-haspopup"?: "menu";
  readonly "aria-expanded"?: boolean;
}

interface MenuProps {
  readonly trigger: ReactElement<TriggerProps>;
  readonly children: ReactNode;
  readonly side?: "top" | "bottom";
  readonly align?: "start" | "end";
}

/** How a menu was opened; null while it is closed. */
type Opening = "pointer" | "key";

export function Menu({ trigger, children, side = "bottom", align = "start" }: MenuProps) {
  const showFailure = useFailureToast();
  const [opening, setOpening] = useState<Opening | null>(null);
  const triggerId = useId();
  const onFailure = (error: unknown) => {
    setOpening(null);
    showFailure(error);
  };
  const onOpenChange = (isOpen: boolean) => {
    if (!isOpen) setOpening(null);
  };
  const box = { isOpen: opening !== null, onOpenChange, isByKey: opening === "key", triggerId, side, align };
  return (
    <>
      {cloneElement(trigger, {
        id: triggerId,
        "aria-haspopup": "menu",
        "aria-expanded": opening !== null,
        // A key clicks, too, without a count of clicks.
        onClick: ({ detail }) => setOpening(opening === null ? (detail === 0 ? "key" : "pointer") : null),
        onKeyDown: (event) => {
          if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
          event.preventDefault();
          setOpening("key");
        },
      })}
      <MenuBox isWanted={opening !== null} onFailure={onFailure} props={{ ...box, children }} />
    </>
  );
}

export interface ItemProps {
  readonly onSelect: () => void;
  readonly disabled?: boolean;
  readonly checked?: boolean;
  readonly children: ReactNode;
}

/** Draws an item of the open menu; none is shown outside of one. */
export const MenuItemContext = createContext<((item: ItemProps) => ReactNode) | null>(null);

export function MenuItem(item: ItemProps) {
  const drawItem = use(MenuItemContext);
  return drawItem?.(item) ?? null;
}

export interface DialogProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  readonly children: ReactNode;
}

/** A modal dialog in the middle of the screen; on a phone at the bottom. */
export function Dialog(props: DialogProps) {
  const showFailure = useFailureToast();
  const onFailure = (error: unknown) => {
    props.onOpenChange(false);
    showFailure(error);
  };
  return <DialogBox isWanted={props.open} onFailure={onFailure} props={props} />;
}
