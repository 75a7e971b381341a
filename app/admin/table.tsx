import type { ReactNode } from "react";
import { cx } from "../ui/button.tsx";

interface TableProps {
  readonly caption: string;
  readonly columns: readonly string[];
  /** Index of a column whose name is for screen readers alone. */
  readonly unnamed?: number;
  /** Indexes of the columns with numbers, which are aligned right. */
  readonly numeric?: readonly number[];
  /** Indexes of the columns that are hidden at medium width. Give their cells the class `wideOnlyCell`. */
  readonly wideOnly?: readonly number[];
  readonly children: ReactNode;
}

/** Hides a cell between `md` and `xl`, where the table is too narrow for all columns. */
export const wideOnlyCell = "md:max-xl:hidden";

/**
 * A table that becomes a list on a phone, where each cell shows the name of its column. ARIA roles instead of table tags,
 * because browsers drop the role of a table tag when CSS changes its `display`.
 */
export function Table({ caption, columns, numeric = [], wideOnly = [], unnamed, children }: TableProps) {
  return (
    <div role="table" aria-label={caption} className="tabular w-full text-xs md:table">
      <div role="rowgroup" className="max-md:sr-only md:table-header-group">
        <div role="row" className="md:table-row">
          {columns.map((column, at) => (
            <div
              key={column}
              role="columnheader"
              className={cx(
                "border-b border-line pe-4 pb-2 align-bottom font-medium text-quiet xl:in-[:lang(en)]:whitespace-nowrap last:pe-0 md:table-cell xl:pe-5",
                numeric.includes(at) && "text-end",
                wideOnly.includes(at) && wideOnlyCell,
              )}
            >
              {at === unnamed ? <span className="sr-only">{column}</span> : column}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" className="max-md:border-t max-md:border-line md:table-row-group">
        {children}
      </div>
    </div>
  );
}

export function Row({ children }: { readonly children: ReactNode }) {
  return (
    <div
      role="row"
      className="max-md:grid max-md:grid-cols-2 max-md:gap-x-4 max-md:gap-y-2 max-md:border-b max-md:border-line max-md:py-3 md:table-row"
    >
      {children}
    </div>
  );
}

/** A row of a long list: on a phone two lines without column names. Its link covers it; give that `rowLink`. */
export function CompactRow({ children }: { readonly children: ReactNode }) {
  return (
    <div
      role="row"
      className="max-md:relative max-md:grid max-md:grid-cols-[minmax(0,auto)_minmax(0,1fr)_auto] max-md:items-center max-md:gap-x-2 max-md:gap-y-0.5 max-md:border-b max-md:border-line max-md:py-2 max-md:[&_[data-column]]:hidden md:table-row"
    >
      {children}
    </div>
  );
}

export const rowLink = "max-md:after:absolute max-md:after:inset-0";

interface CellProps {
  /** Name of the column; on a phone it is shown above the cell. */
  readonly label: string;
  readonly isNumeric?: boolean;
  /** First cell of the row: on a phone it takes the whole width and shows no column name. */
  readonly isHead?: boolean;
  readonly className?: string;
  readonly children: ReactNode;
}

export function Cell({ label, isNumeric, isHead, className, children }: CellProps) {
  return (
    <div
      role="cell"
      className={cx(
        "min-w-0 md:table-cell md:border-b md:border-line md:py-2.5 md:pe-4 md:align-middle md:pointer-coarse:[&_a]:-my-3.5 md:pointer-coarse:[&_a]:py-3.5 xl:pe-5 md:last:pe-0",
        isNumeric && "md:text-end md:whitespace-nowrap",
        isHead && "max-md:col-span-2",
        className,
      )}
    >
      {isHead ? null : (
        <span aria-hidden data-column className="block text-quiet md:hidden">
          {label}
        </span>
      )}
      {children}
    </div>
  );
}
