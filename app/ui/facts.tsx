import type { ReactNode } from "react";

export type Fact = readonly [name: string, value: ReactNode];

/** A small table of names and values. */
export function Facts({ rows }: { readonly rows: readonly Fact[] }) {
  return (
    <dl className="divide-y divide-line border-y border-line empty:hidden">
      {rows.map(([name, value]) => (
        <div key={name} className="flex justify-between gap-4 py-2 text-xs">
          <dt className="shrink-0 text-quiet">{name}</dt>
          <dd className="tabular min-w-0 text-end break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
