const widths = [180, 240, 130, 200, 160, 260, 150, 210, 190, 140];

/** In place of rows of pictures that are not read yet: about as many in a row, and as high, as those will be. */
export function RowsSkeleton({ className }: { readonly className?: string }) {
  return (
    <div aria-hidden className={className}>
      <div className="flex flex-wrap gap-1">
        {widths.map((width) => (
          <span
            key={width}
            className="h-28 animate-breathe bg-well last:max-w-60 sm:h-52"
            style={{ flex: `1 1 min(${width}px, 30%)` }}
          />
        ))}
      </div>
    </div>
  );
}
