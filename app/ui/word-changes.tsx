"use client";
import { useMemo } from "react";
import { diffWords } from "./diff.ts";

interface Props {
  readonly before: string;
  readonly after: string;
}

/** A text, word by word beside an earlier one: what was added is marked, what was removed is struck out. */
export function WordChanges({ before, after }: Props) {
  const pieces = useMemo(() => diffWords(before, after), [before, after]);
  return pieces.map(({ text, kind }, at) => {
    // oxlint-disable-next-line react/no-array-index-key -- words repeat
    if (kind === "added")
      return (
        <ins key={at} className="bg-ok/15 no-underline">
          {text}
        </ins>
      );
    // oxlint-disable-next-line react/no-array-index-key -- words repeat
    if (kind === "removed")
      return (
        <del key={at} className="text-quiet">
          {text}
        </del>
      );
    return text;
  });
}
