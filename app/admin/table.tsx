import type { ReactNode } from "react";
import { cx } from "../ui/button.tsx";

interface TableProps {
  readonly caption: string;
  readonly columns: readonly string[];
  /** Of numbers, which stand on the right; by place. */
  readonly numeric?: readonly number[];
  /** Shown where there is room, and on a phone; by place. Their cells have `columnWithRoom`. */
  readonly withRoom?: readonly number[];
  readonly children: ReactNode;
}

export const columnWithRoom = "md:max-xl:hidden";

/** A table that becomes a list on a phone, each cell with its name. Roles instead of tags: a tag loses its meaning with another display. */
export function Table({ caption, columns, numeric = [], withRoom = [], children }: TableProps) {
  return (
    <div role="table" aria-label={caption} className="tabular w-full text-xs md:table">
      <div role="rowgroup" className="max-md:sr-only md:table-header-group">
        <div role="row" className="md:table-row">
          {columns.map((column, at) => (
            <div
              key={column}
              role="columnheader"
              className={cx(
                "border-b border-line pr-5 pb-2 align-bottom font-medium text-quiet xl:whitespace-nowrap last:pr-0 md:table-cell",
                numeric.includes(at) && "text-right",
                withRoom.includes(at) && columnWithRoom,
              )}
            >
              {column}
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

interface CellProps {
  /** The name of its column, shown beside it on a phone. */
  readonly label: string;
  readonly isNumeric?: boolean;
  /** Takes the whole width on a phone, without its name. */
  readonly isHead?: boolean;
  readonly className?: string;
  readonly children: ReactNode;
}

export function Cell({ label, isNumeric, isHead, className, children }: CellProps) {
  return (
    <div
      role="cell"
      className={cx(
        "min-w-0 md:table-cell md:border-b md:border-line md:py-2.5 md:pr-5 md:align-middle md:last:pr-0",
        isNumeric && "md:text-right md:whitespace-nowrap",
        isHead && "max-md:col-span-2",
        className,
      )}
    >
      {isHead ? null : (
        <span aria-hidden className="block text-quiet md:hidden">
          {label}
        </span>
      )}
      {children}
    </div>
  );
}
