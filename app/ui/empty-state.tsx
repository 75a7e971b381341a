import type { ReactNode } from "react";

interface Props {
  readonly title: string;
  readonly text: string;
  readonly children?: ReactNode;
}

/** What a page says when it has nothing to show yet. */
export function EmptyState({ title, text, children }: Props) {
  return (
    <div className="mx-auto flex max-w-[44ch] flex-col items-center gap-3 px-4 py-24 text-center">
      <h2 className="display text-xl">{title}</h2>
      <p className="text-sm text-quiet">{text}</p>
      {children === undefined ? null : (
        <div className="mt-3 flex flex-wrap justify-center gap-2">{children}</div>
      )}
    </div>
  );
}
