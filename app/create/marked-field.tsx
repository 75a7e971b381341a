"use client";
import { useQuery } from "@tanstack/react-query";
import { type ComponentProps, type RefObject, useLayoutEffect, useMemo, useRef } from "react";
import { api } from "../client/api.ts";
import { keys } from "../client/queries.ts";
import { cx } from "../ui/button.tsx";
import { foldName, type Piece, piecesOf } from "./prompt-marks.ts";

/** Grounds and lines behind the words, which stay the field's own: its selection, marks of spelling and readers know nothing of it. */
const lookOf: Readonly<Record<NonNullable<Piece["kind"]>, string>> = {
  choice: "bg-info/20",
  list: "bg-ok/20",
  weight: "bg-warn/20",
  fault: "bg-fail/15 underline decoration-fail decoration-wavy decoration-1 underline-offset-4",
};

/** The names of all lists; null until they are known. */
function useListNames(): ReadonlySet<string> | null {
  const { data } = useQuery({ queryKey: keys.presets, queryFn: () => api.presets.list.query() });
  return useMemo(
    () =>
      data === undefined
        ? null
        : new Set(data.items.filter(({ type }) => type === "list").map(({ name }) => foldName(name))),
    [data],
  );
}

/** Keeps the ground under the words: as wide as the field without its scroll bar, and scrolled as far. */
function useSameScroll(field: RefObject<HTMLTextAreaElement | null>, text: string) {
  const ground = useRef<HTMLDivElement>(null);
  const follow = () => {
    const [above, below] = [field.current, ground.current];
    if (above === null || below === null) return;
    below.style.width = `${above.clientWidth}px`;
    below.style.height = `${above.clientHeight}px`;
    below.scrollTop = above.scrollTop;
  };
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- the field changes its size with the text
  useLayoutEffect(follow, [text]);
  useLayoutEffect(() => {
    if (field.current === null) return undefined;
    const observer = new ResizeObserver(follow);
    observer.observe(field.current);
    return () => observer.disconnect();
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- reads nothing but the two elements
  }, [field]);
  return { ground, follow };
}

interface MarkedFieldProps extends Omit<ComponentProps<"textarea">, "ref" | "value"> {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly value: string;
  /** Each line is a prompt of its own. */
  readonly isList?: boolean;
  /** Of the words: spaces around and size. */
  readonly box: string;
}

/** A field for a prompt, in which choices, lists, weights and faults stand out. */
export function MarkedField({ field, value, isList = false, box, className, ...props }: MarkedFieldProps) {
  const lists = useListNames();
  const pieces = useMemo(() => piecesOf(value, { lists, isList }), [isList, lists, value]);
  const { ground, follow } = useSameScroll(field, value);
  return (
    <div className="relative flex min-w-0 flex-1">
      <div
        ref={ground}
        aria-hidden
        className={cx(
          box,
          "field-ground pointer-events-none absolute inset-s-0 top-0 overflow-hidden break-words whitespace-pre-wrap text-transparent select-none forced-colors:hidden",
          // Fields of iOS have a little space of their own.
          "supports-[-webkit-touch-callout:none]:[&>span]:relative supports-[-webkit-touch-callout:none]:[&>span]:inset-s-[3px]",
        )}
      >
        {pieces.map(({ text, kind }, at) =>
          kind === null ? (
            text
          ) : (
            // oxlint-disable-next-line react/no-array-index-key -- pieces have no name but their place
            <span key={at} data-mark={kind} className={cx("rounded-[3px]", lookOf[kind])}>
              {text}
            </span>
          ),
        )}
        {/* The last line counts also when it is empty. */}
        {"\u200b"}
      </div>
      <textarea
        ref={field}
        value={value}
        onScroll={follow}
        className={cx(box, "relative min-w-0 flex-1 bg-transparent", className)}
        {...props}
      />
    </div>
  );
}
