import type { ReactNode } from "react";

interface Props {
  readonly title: string;
  readonly text: string;
  readonly children?: ReactNode;
}

/** A frame on its cord, with nothing in it yet. */
function BareFrame() {
  return (
    <svg
      viewBox="0 0 96 88"
      className="mb-4 h-22 w-24 text-edge"
      fill="none"
      stroke="currentColor"
      aria-hidden
    >
      <path d="M24 34 48 8l24 26" strokeWidth="1.25" />
      <circle cx="48" cy="7" r="2.5" fill="currentColor" stroke="none" />
      <rect x="9" y="34" width="78" height="52" strokeWidth="1.5" className="fill-surface" />
      <rect x="19" y="44" width="58" height="32" strokeWidth="1" strokeDasharray="3 3" />
    </svg>
  );
}

/** What a page says when it has nothing to show yet. */
export function EmptyState({ title, text, children }: Props) {
  return (
    <div className="mx-auto flex max-w-[44ch] flex-col items-center gap-3 px-4 pt-[14dvh] pb-24 text-center">
      <BareFrame />
      <h2 className="display text-xl">{title}</h2>
      <p className="text-sm text-balance text-quiet">{text}</p>
      {children === undefined ? null : (
        <div className="mt-3 flex flex-wrap justify-center gap-2">{children}</div>
      )}
    </div>
  );
}
