const widths = [180, 240, 130, 200, 160, 260, 150, 210, 190, 140];

export function SheetSkeleton() {
  return (
    <div aria-hidden className="mt-12 flex flex-wrap gap-1">
      {widths.map((width) => (
        <span key={width} className="h-52 animate-breathe bg-well" style={{ flex: `1 1 ${width}px` }} />
      ))}
    </div>
  );
}
