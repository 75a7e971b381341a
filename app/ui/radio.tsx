"use client";
import {
  type ComponentProps,
  createContext,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  use,
  useLayoutEffect,
  useRef,
} from "react";

interface Chosen {
  readonly value: string;
  readonly onValueChange: (value: string) => void;
}

const ChosenContext = createContext<Chosen | null>(null);

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
const choosable = "[role=radio]:not(:disabled)";

/** The arrow keys choose the next one, around the ends; where the text runs from the right the sideways ones change places. */
function chooseNext(event: KeyboardEvent<HTMLElement>): void {
  const step = steps[event.key];
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  const group = event.currentTarget;
  const all = [...group.querySelectorAll<HTMLElement>(choosable)];
  const isSideways = event.key === "ArrowLeft" || event.key === "ArrowRight";
  const isTurned = isSideways && getComputedStyle(group).direction === "rtl";
  const here = all.findIndex((radio) => radio === document.activeElement);
  const next = all[(here + (isTurned ? -step : step) + all.length) % all.length];
  next?.focus();
  next?.click();
}

interface GroupProps extends Chosen {
  readonly ref?: RefObject<HTMLDivElement | null>;
  readonly "aria-label": string;
  readonly className: string;
  readonly children: ReactNode;
}

/** One choice out of several: one of them takes the focus, and the arrow keys go from one to the next. */
export function RadioGroup({ ref, value, onValueChange, children, ...group }: GroupProps) {
  const own = useRef<HTMLDivElement>(null);
  const element = ref ?? own;
  // The chosen one takes the focus; while none is chosen the first one.
  useLayoutEffect(() => {
    const all = [...(element.current?.querySelectorAll<HTMLElement>(choosable) ?? [])];
    const entry = all.find((radio) => radio.ariaChecked === "true") ?? all[0];
    for (const radio of all) radio.tabIndex = radio === entry ? 0 : -1;
  });
  return (
    // oxlint-disable-next-line jsx-a11y/interactive-supports-focus -- one of its radios has the focus
    <div {...group} ref={element} role="radiogroup" onKeyDown={chooseNext}>
      <ChosenContext value={{ value, onValueChange }}>{children}</ChosenContext>
    </div>
  );
}

interface RadioProps extends Omit<ComponentProps<"button">, "value"> {
  readonly value: string;
}

export function Radio({ value, ...button }: RadioProps) {
  const chosen = use(ChosenContext);
  return (
    <button
      {...button}
      type="button"
      role="radio"
      aria-checked={chosen?.value === value}
      onClick={() => chosen?.onValueChange(value)}
    />
  );
}
