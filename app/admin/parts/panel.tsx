import { type ReactNode, useId } from "react";

interface Props {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}

/** A topic of a page under its heading. */
export function Panel({ title, aside, children }: Props) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="min-w-0">
      <div className="mb-3 flex min-h-6 flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
        <h2 id={id} className="text-sm font-medium">
          {title}
        </h2>
        {aside === undefined ? null : <div className="tabular text-xs text-quiet">{aside}</div>}
      </div>
      {children}
    </section>
  );
}
