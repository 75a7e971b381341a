import type { ReactNode } from "react";

/** Names with their values, as a quiet table. */
export function Facts({ rows }: { readonly rows: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="divide-y divide-line border-y border-line">
      {rows.map(([name, value]) => (
        <div key={name} className="flex justify-between gap-6 py-2 text-xs">
          <dt className="shrink-0 text-quiet">{name}</dt>
          <dd className="tabular min-w-0 text-right break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
