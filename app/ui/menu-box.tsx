"use client";
import { Menu } from "@base-ui/react/menu";
import { type ReactNode, useEffect, useRef } from "react";
import { cx } from "./button.tsx";
import { type ItemProps, MenuItemContext } from "./overlays.tsx";

interface Props {
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
  /** By a key: then the first item has the focus. */
  readonly isByKey: boolean;
  readonly triggerId: string;
  readonly side: "top" | "bottom";
  readonly align: "start" | "end";
  readonly children: ReactNode;
}

function Item({ onSelect, disabled, checked, children }: ItemProps) {
  return (
    <Menu.Item
      onClick={onSelect}
      disabled={disabled}
      className={cx(
        "flex min-h-9 cursor-pointer py-1.5 pointer-coarse:min-h-11 items-center gap-2.5 rounded-control px-2.5 text-sm outline-none select-none data-disabled:cursor-default data-disabled:opacity-45 data-highlighted:bg-hover [&_svg]:size-4 [&_svg]:text-quiet",
        checked && "font-medium",
      )}
    >
      {children}
    </Menu.Item>
  );
}

const drawItem = (item: ItemProps) => <Item {...item} />;

/** What `Menu` shows below its trigger once it is loaded. */
export function MenuBox({ isOpen, onOpenChange, isByKey, triggerId, side, align, children }: Props) {
  const popup = useRef<HTMLDivElement>(null);
  const trigger = () => document.getElementById(triggerId);
  useEffect(() => {
    if (!isOpen || !isByKey) return undefined;
    const frame = requestAnimationFrame(() =>
      popup.current?.querySelector<HTMLElement>("[role=menuitem]:not([data-disabled])")?.focus(),
    );
    return () => cancelAnimationFrame(frame);
  }, [isByKey, isOpen]);
  return (
    <Menu.Root open={isOpen} onOpenChange={onOpenChange}>
      <Menu.Portal>
        <Menu.Positioner anchor={trigger} side={side} align={align} sideOffset={6} className="z-60">
          <Menu.Popup
            ref={popup}
            finalFocus={() => trigger() ?? true}
            aria-labelledby={triggerId}
            className="max-h-(--available-height) min-w-48 overflow-y-auto overscroll-contain rounded-card bg-raised p-1 shadow-float outline-none transition-opacity duration-120 data-ending-style:opacity-0 data-starting-style:opacity-0"
          >
            <MenuItemContext value={drawItem}>{children}</MenuItemContext>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
